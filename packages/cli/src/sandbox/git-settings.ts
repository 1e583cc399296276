import type { Io } from '../io.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The git settings of the person that a command in a sandbox needs. */
export interface GitSettings {
  /** Variables with the name and the address of the person, as git reads them. */
  readonly identity: ReadonlyMap<string, string>
  /** The file of `http.sslCAInfo`; null without one. */
  readonly authorities: string | null
}

/** A folder of the checkout in the `PATH` of the person may hold another `git`. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin'
const PASSED = /^(?:HOME|XDG_CONFIG_HOME|GIT_CONFIG(?:_\w+)?)$/
const TIMEOUT_MS = 3_000
const KEYS = String.raw`^(user|author|committer)\.(name|email)$|^http\.sslcainfo$`
const ENTRY = /(?:^|\n)((?:user|author|committer)\.(?:name|email)|http\.sslcainfo)\n([^\0]*)$/

/**
 * Reads the settings that hold in the working directory, since those of the home directory may
 * depend on it (`includeIf`). The private home of a sandbox has none of them.
 */
export async function readGitSettings({
  captureProgram,
  env,
  home,
}: Pick<Io, 'captureProgram' | 'env' | 'home'>): Promise<GitSettings> {
  const command = ['git', 'config', '-z', '--get-regexp', KEYS] as const
  const passed = Object.entries(env).flatMap(([name, value]) =>
    PASSED.test(name) && value !== undefined ? [[name, value] as const] : [],
  )
  const captured = await captureProgram(
    command,
    { ...Object.fromEntries(passed), PATH: SYSTEM_PATH },
    TIMEOUT_MS,
  )
  const output = captured.kind === 'ended' ? captured.output : ''
  const settings = new Map(output.split('\0').flatMap(parseEntry))
  const authorities = settings.get('http.sslcainfo') ?? ''
  return {
    identity: new Map([
      ...identify('author', settings, env),
      ...identify('committer', settings, env),
    ]),
    authorities: authorities === '' ? null : authorities.replace(/^~(?=\/)/, () => home),
  }
}

/** The last of several entries counts, as in git. */
function parseEntry(entry: string): readonly (readonly [string, string])[] {
  const [, key, value] = ENTRY.exec(entry) ?? []
  return key === undefined || value === undefined ? [] : [[key, value]]
}

function identify(
  role: 'author' | 'committer',
  settings: ReadonlyMap<string, string>,
  env: Env,
): readonly (readonly [string, string])[] {
  const prefix = `GIT_${role.toUpperCase()}`
  const setting = (member: string): string =>
    settings.get(`${role}.${member}`) ?? settings.get(`user.${member}`) ?? ''
  return [
    [`${prefix}_NAME`, env[`${prefix}_NAME`] || setting('name')] as const,
    [
      `${prefix}_EMAIL`,
      env[`${prefix}_EMAIL`] || setting('email') || (env['EMAIL'] ?? ''),
    ] as const,
  ].filter(([, value]) => value !== '' && !value.includes('\0'))
}
