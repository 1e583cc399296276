import type { SandboxRequest } from '@palisade/protocol'
import { resolve } from 'node:path'

type Env = Readonly<Record<string, string | undefined>>

/** A variable with certificate authorities, and the files and directories that it names. */
export type Authority = NonNullable<SandboxRequest['authorities']>[number]

/** Variables that name one file or directory of authorities, which a company adds to. */
const PATHS: readonly string[] = [
  'AWS_CA_BUNDLE',
  'BUNDLE_SSL_CA_CERT',
  'CARGO_HTTP_CAINFO',
  'CURL_CA_BUNDLE',
  'DENO_CERT',
  'GIT_SSL_CAINFO',
  'GIT_SSL_CAPATH',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
  'HTTPLIB2_CA_CERTS',
  'NIX_SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'NPM_CONFIG_CAFILE',
  'PERL_LWP_SSL_CA_FILE',
  'PERL_LWP_SSL_CA_PATH',
  'PIP_CERT',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_FILE',
  'YARN_HTTPS_CA_FILE_PATH',
  'npm_config_cafile',
]
/** Several directories, separated as in `PATH`. */
const LISTS: readonly string[] = ['SSL_CERT_DIR']
/** Options of Java, of which those of its store pass. Others may be code, such as `-javaagent`. */
const OPTIONS: readonly string[] = [
  'ANT_OPTS',
  'GRADLE_OPTS',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  'MAVEN_OPTS',
  'SBT_OPTS',
  '_JAVA_OPTIONS',
]
const STORE_OPTION = /(?<!\S)-Djavax\.net\.ssl\.trustStore(?:Password|Type)?=[^\s"']+(?!\S)/g
const STORE_PATH = /^-Djavax\.net\.ssl\.trustStore=/

/** The authorities of the person, who works in `directory`. */
export function findAuthorities(env: Env, directory: string): readonly Authority[] {
  const entry = (variable: string, value: string, paths: readonly string[]): Authority[] => {
    const named = paths.filter((path) => path !== '').map((path) => resolve(directory, path))
    return named.length === 0 || value.includes('\0') ? [] : [{ variable, value, paths: named }]
  }
  const of = (name: string): string => env[name] ?? ''
  return [
    ...PATHS.flatMap((name) => entry(name, of(name), [of(name)])),
    ...LISTS.flatMap((name) => entry(name, of(name), of(name).split(':'))),
    ...OPTIONS.flatMap((name) => {
      const options = of(name).match(STORE_OPTION) ?? []
      const stores = options.filter((option) => STORE_PATH.test(option))
      return entry(
        name,
        options.join(' '),
        stores.map((option) => option.replace(STORE_PATH, '')),
      )
    }),
  ]
}
