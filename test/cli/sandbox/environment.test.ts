import { describe, expect, it } from 'vitest'
import {
  buildEnvironment,
  type EnvironmentRequest,
} from '../../../packages/cli/src/sandbox/environment.ts'

const PROXY = 'http://127.0.0.1:3128'
const OWN = new Map([['PALISADE_AGENT_URL', 'http://127.0.0.1:3130']])

type Request = Partial<EnvironmentRequest>

function build(request: Request): Readonly<Record<string, string>> {
  const outcome = buildEnvironment({ ...defaults(), ...request })
  if (outcome.kind === 'invalid') throw new Error(outcome.problems.join('\n'))
  return Object.fromEntries(outcome.variables)
}

function problemsOf(request: Request): readonly string[] {
  const outcome = buildEnvironment({ ...defaults(), ...request })
  return outcome.kind === 'invalid' ? outcome.problems : []
}

function defaults(): EnvironmentRequest {
  return { env: {}, asked: [], home: '/home/alice', proxy: PROXY, identity: new Map(), own: OWN }
}

describe('the environment of a command', () => {
  it('has the variables of the terminal and the person', () => {
    const env = {
      PATH: '/opt/bin:/usr/bin',
      TERM: 'xterm-256color',
      COLORTERM: 'truecolor',
      LANG: 'de_DE.UTF-8',
      LC_ALL: 'C',
      LC_TIME: 'C',
      TZ: 'Europe/Berlin',
      USER: 'alice',
      LOGNAME: 'alice',
      SHELL: '/bin/bash',
      EDITOR: 'vi',
      PAGER: 'less',
      NO_COLOR: '',
      FORCE_COLOR: '1',
      CI: 'true',
    }

    const PATH = '/opt/bin:/usr/bin:/run/palisade/bin'
    expect(build({ env })).toMatchObject({ ...env, PATH })
  })

  it.each([
    'NODE_OPTIONS',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'LD_AUDIT',
    'PYTHONSTARTUP',
    'PYTHONPATH',
    'PERL5OPT',
    'RUBYOPT',
    'BASH_ENV',
    'ENV',
    'GIT_SSH_COMMAND',
    'GIT_EXTERNAL_DIFF',
    'GIT_CONFIG_COUNT',
    'SSH_AUTH_SOCK',
    'SSH_ASKPASS',
    'DBUS_SESSION_BUS_ADDRESS',
    'XDG_RUNTIME_DIR',
    'DISPLAY',
    'WAYLAND_DISPLAY',
    'XAUTHORITY',
    'DOCKER_HOST',
    'GITHUB_TOKEN',
    'NPM_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'ANTHROPIC_API_KEY',
    'PALISADE_TOKEN',
    'LC_SECRET',
    'TMPDIR',
    'OLDPWD',
    'path',
  ])('has no %s, unless it is asked for by name', (name) => {
    const env = { [name]: 'value' }

    expect(build({ env })).not.toHaveProperty([name])
    expect(build({ env, asked: [name] })[name]).toBe('value')
  })

  it('has no variable that looks like a passed one', () => {
    const names = ['PATH ', 'TERM\n', 'BASH_FUNC_ls%%', '__proto__', 'toString', '']
    const env = Object.fromEntries(names.map((name) => [name, 'value']))

    const built = Object.keys(build({ env }))

    for (const name of names) expect(built).not.toContain(name)
  })

  it('has a home and a path whatever the caller has', () => {
    expect(build({ env: { HOME: '/root' } })).toMatchObject({
      HOME: '/home/alice',
      PATH: '/usr/local/bin:/usr/bin:/bin:/run/palisade/bin',
    })
  })

  it('names the proxy of the sandbox, not the one of the caller', () => {
    const env = { HTTP_PROXY: 'http://proxy.example:8080', NO_PROXY: '*' }

    expect(build({ env })).toMatchObject({
      HTTP_PROXY: PROXY,
      https_proxy: PROXY,
      ALL_PROXY: PROXY,
      NODE_USE_ENV_PROXY: '1',
      NO_PROXY: expect.stringMatching(
        /^localhost,.*,127\.0\.0\.1,.*,0\.0\.0\.0,.*,\[::\],/,
      ) as string,
      PALISADE_AGENT_URL: 'http://127.0.0.1:3130',
    })
  })

  it('has each value that the person writes, the last one of a name', () => {
    const asked = ['A=1', 'B=', 'C=x=y', 'A=2', 'HTTP_PROXY=http://other:1', 'HOME=/tmp']

    expect(build({ asked })).toMatchObject({
      A: '2',
      B: '',
      C: 'x=y',
      HTTP_PROXY: 'http://other:1',
      HOME: '/tmp',
    })
  })

  it.each([
    ['NOT_SET', '`--env NOT_SET` is not set; write `--env NOT_SET=VALUE`'],
    ['constructor', '`--env constructor` is not set; write `--env constructor=VALUE`'],
    ['', '`--env ` is not a name; write `--env NAME` or `--env NAME=VALUE`'],
    ['=a', '`--env ` is not a name; write `--env NAME` or `--env NAME=VALUE`'],
    ['1A=b', '`--env 1A` is not a name; write `--env NAME` or `--env NAME=VALUE`'],
    ['A B=c', '`--env A B` is not a name; write `--env NAME` or `--env NAME=VALUE`'],
    ['A\0B=c', '`--env A\0B` is not a name; write `--env NAME` or `--env NAME=VALUE`'],
    ['A=b\0C=d', '`--env A` has a NUL character in its value'],
    [
      'PALISADE_AGENT_URL=http://127.0.0.1:1',
      '`--env PALISADE_AGENT_URL` is a variable of the sandbox itself; leave it out',
    ],
    [
      'HTTP_PROXY',
      '`--env HTTP_PROXY` leads to a proxy outside; leave it out, or write `HTTP_PROXY=VALUE`',
    ],
  ])('is refused for `--env %s`', (asked, problem) => {
    expect(problemsOf({ env: { HTTP_PROXY: 'http://a:1' }, asked: [asked] })).toEqual([problem])
  })

  it('is refused with all faults at once', () => {
    expect(problemsOf({ asked: ['A', 'B=1', 'C'] })).toHaveLength(2)
  })

  it('never has a NUL', () => {
    const env = { TERM: 'a\0LD_PRELOAD=/tmp/a.so', SECRET: 'a\0b' }

    expect(build({ env })).not.toHaveProperty('TERM')
    expect(problemsOf({ env, asked: ['SECRET'] })).toHaveLength(1)
  })
})
