import type { ClientScene } from './client-scene.ts'

/** A program that goes to `host`, allowed or denied. */
export interface Client {
  readonly program: string
  readonly way: string
  readonly command: (host: string, scene: ClientScene) => readonly string[]
  /** In its output when it reaches the target. */
  readonly reached: string
  /** In its output when it is denied, for `host:port`. */
  readonly refused: (authority: string) => string
  /** Exit code when it is denied. */
  readonly refusedCode: number
  /** Exit code when it reaches the target; 0 if absent. */
  readonly reachedCode?: number
}

const PAGE = 'reached'

const http = (host: string, { ports }: ClientScene): string => `http://${host}:${ports.http}`
const https = (host: string, { ports }: ClientScene): string => `https://${host}:${ports.https}`

/** The reason phrase of the proxy. */
const phrase = (authority: string): string =>
  `Palisade: ${authority} denied, no rule allows it; run: palisade explain connect:tcp ${authority}`

export const CLIENTS: readonly Client[] = [
  {
    program: 'curl',
    way: 'over HTTP',
    command: (host, scene) => ['curl', '-sS', http(host, scene)],
    reached: PAGE,
    refused: (authority) => `"error":"${phrase(authority)}; do not retry, `,
    refusedCode: 0,
  },
  {
    program: 'curl',
    way: 'over HTTP with --fail',
    command: (host, scene) => ['curl', '-sS', '--fail', http(host, scene)],
    reached: PAGE,
    refused: () => 'curl: (22) The requested URL returned error: 403',
    refusedCode: 22,
  },
  {
    program: 'curl',
    way: 'over HTTPS',
    command: (host, scene) => ['curl', '-sSk', https(host, scene)],
    reached: PAGE,
    // Older versions say `Received HTTP code 403 from proxy after CONNECT`.
    refused: () => 'curl: (56) ',
    refusedCode: 56,
  },
  {
    program: 'curl',
    way: 'over SOCKS5',
    command: (host, scene) => {
      const proxy = `127.0.0.1:${scene.proxy.port}`
      return ['curl', '-sS', '--socks5-hostname', proxy, http(host, scene)]
    },
    reached: PAGE,
    refused: () => `curl: (97) Can't complete SOCKS5 connection to bad.test. (2)`,
    refusedCode: 97,
  },
  {
    program: 'wget',
    way: 'over HTTP',
    command: (host, scene) => ['wget', '-nv', '-O-', '--tries=1', http(host, scene)],
    reached: PAGE,
    refused: (authority) => `ERROR 403: ${phrase(authority)}.`,
    refusedCode: 8,
  },
  {
    program: 'wget',
    way: 'over HTTPS',
    command: (host, scene) => [
      'wget',
      '-nv',
      '-O-',
      '--tries=1',
      '--no-check-certificate',
      https(host, scene),
    ],
    reached: PAGE,
    refused: (authority) => `Proxy tunneling failed: ${phrase(authority)}`,
    refusedCode: 4,
  },
  {
    program: 'git',
    way: 'over HTTP',
    command: (host, scene) => ['git', 'ls-remote', `${http(host, scene)}/project.git`],
    reached: 'refs/heads/main',
    refused: () => "/project.git/': The requested URL returned error: 403",
    refusedCode: 128,
  },
  {
    program: 'git',
    way: 'over HTTPS',
    command: (host, scene) => [
      'git',
      '-c',
      'http.sslVerify=false',
      'ls-remote',
      `${https(host, scene)}/project.git`,
    ],
    reached: 'refs/heads/main',
    refused: () => "fatal: unable to access 'https://bad.test:",
    refusedCode: 128,
  },
  {
    program: 'ssh',
    way: 'by the command that git uses',
    command: (host, { ports }) => [
      'sh',
      '-c',
      `eval "$GIT_SSH_COMMAND -v -p ${ports.ssh} ${host} true"`,
    ],
    reached: 'remote software version Stub',
    reachedCode: 255,
    refused: (authority) => `error: ${phrase(authority)}; do not retry, `,
    refusedCode: 255,
  },
  {
    program: 'npm',
    way: 'over HTTP',
    command: (host, scene) => ['npm', 'view', 'demo', 'version', `--registry=${http(host, scene)}`],
    reached: '1.0.0',
    refused: (authority) => `npm error 403 403 ${phrase(authority)} - GET http://`,
    refusedCode: 1,
  },
  {
    program: 'npm',
    way: 'over HTTPS',
    command: (host, scene) => [
      'npm',
      'view',
      'demo',
      'version',
      '--strict-ssl=false',
      `--registry=${https(host, scene)}`,
    ],
    reached: '1.0.0',
    refused: (authority) => `npm error 403 403 ${phrase(authority)} - GET https://`,
    refusedCode: 1,
  },
  ...pipClients(),
  {
    program: 'node',
    way: 'by fetch',
    command: (host, scene) => [
      'node',
      '-e',
      `fetch('${http(host, scene)}').then((a) => a.text()).then(console.log)`,
    ],
    reached: PAGE,
    refused: () => 'Proxy response (403) !== 200 when HTTP Tunneling',
    refusedCode: 1,
  },
  {
    program: 'python3',
    way: 'by urllib over HTTP',
    command: (host, scene) => ['python3', '-c', READ, http(host, scene)],
    reached: PAGE,
    refused: (authority) => `urllib.error.HTTPError: HTTP Error 403: ${phrase(authority)}`,
    refusedCode: 1,
  },
  {
    program: 'python3',
    way: 'by urllib over HTTPS',
    command: (host, scene) => ['python3', '-c', READ_UNVERIFIED, https(host, scene)],
    reached: PAGE,
    refused: (authority) => `<urlopen error Tunnel connection failed: 403 ${phrase(authority)}>`,
    refusedCode: 1,
  },
  {
    program: 'apt-get',
    way: 'with its proxy option',
    command: (host, scene) => ['sh', '-c', UPDATE, 'sh', `${http(host, scene)}/apt`],
    reached: 'Fetched ',
    refused: (authority) => `  403  ${phrase(authority)} [IP: 127.0.0.1 `,
    refusedCode: 100,
  },
  {
    program: 'openssl',
    way: 'by s_client',
    command: (host, { proxy, ports }) => [
      'openssl',
      's_client',
      '-proxy',
      `127.0.0.1:${proxy.port}`,
      '-connect',
      `${host}:${ports.https}`,
      '-servername',
      host,
    ],
    reached: 'subject=CN = good.test',
    refused: (authority) => `HTTP CONNECT failed, reason= 403 ${phrase(authority)}`,
    refusedCode: 1,
  },
]

const READ = 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read())'
const READ_UNVERIFIED = `import ssl, sys, urllib.request as r
print(r.urlopen(sys.argv[1], context=ssl._create_unverified_context()).read())`

/** Reads and writes below the current folder only. */
const UPDATE = `mkdir -p a/lists/partial a/cache/archives/partial
echo "deb [trusted=yes] $1 ./" > a/sources
: > a/status
APT_CONFIG=/dev/null apt-get update -o Acquire::http::Proxy="$http_proxy" -o Acquire::Retries=0 \\
  -o Dir::State="$PWD/a" -o Dir::State::status="$PWD/a/status" -o Dir::Cache="$PWD/a/cache" \\
  -o Dir::Etc::sourcelist="$PWD/a/sources" -o Dir::Etc::sourceparts=/dev/null \\
  -o APT::Sandbox::User="$(id -un)"`

function pipClients(): readonly Client[] {
  const list = (url: string, host: string): readonly string[] => [
    'pip',
    'index',
    'versions',
    'demo',
    '--disable-pip-version-check',
    '--retries=1',
    `--index-url=${url}/simple/`,
    `--trusted-host=${host}`,
  ]
  return [
    {
      program: 'pip',
      way: 'over HTTP',
      command: (host, scene) => list(http(host, scene), host),
      reached: 'demo (1.0.0)',
      refused: () => 'ERROR: No matching distribution found for demo',
      refusedCode: 1,
    },
    {
      program: 'pip',
      way: 'over HTTPS',
      command: (host, scene) => list(https(host, scene), host),
      reached: 'demo (1.0.0)',
      refused: (authority) => `OSError('Tunnel connection failed: 403 ${phrase(authority)}')`,
      refusedCode: 1,
    },
  ]
}
