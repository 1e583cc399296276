import type { Io } from '../runtime/io.ts'
import { expandHome, findObeyed, type GitSetting } from './git-obeyed.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The git settings of the person that matter to a sandbox. */
export interface GitSettings {
  /** Variables with the name and the address of the person, as git reads them. */
  readonly identity: ReadonlyMap<string, string>
  /** The file of `http.sslCAInfo`; null without one. */
  readonly authorities: string | null
  /** Paths of hooks and further settings that git obeys in the working directory. */
  readonly obeyed: readonly string[]
}

/** A folder of the checkout in the `PATH` of the person may hold another `git`. */
const SYSTEM_PATH = '/usr/local/bin:/usr/bin:/bin'
const PASSED = /^(?:HOME|XDG_CONFIG_HOME|GIT_CONFIG(?:_\w+)?)$/
const TIMEOUT_MS = 3_000
const KEYS = [
  String.raw`(user|author|committer)\.(name|email)`,
  String.raw`http\.sslcainfo`,
  String.raw`core\.hookspath`,
  String.raw`include(if\..*)?\.path`,
].join('|')
const ENTRY = new RegExp(String.raw`(?:^|\n)(?<key>${KEYS})\n(?<value>[^\0]*)$`)
const ORIGIN = /(?:^|\n)file:([^\n]+)$/
const NAMES_PATH = /^(?:core|include(?:if)?)\./

/**
 * Reads the settings that hold in the working directory, since those of the home directory may
 * depend on it (`includeIf`). The private home of a sandbox has none of them.
 */
export async function readGitSettings({
  captureProgram,
  cwd,
  env,
  home,
}: Pick<Io, 'captureProgram' | 'cwd' | 'env' | 'home'>): Promise<GitSettings> {
  const command = ['git', 'config', '-z', '--show-origin', '--get-regexp', `^(${KEYS})$`] as const
  const passed = Object.entries(env).flatMap(([name, value]) =>
    PASSED.test(name) && value !== undefined ? [[name, value] as const] : [],
  )
  const captured = await captureProgram(
    command,
    { ...Object.fromEntries(passed), PATH: SYSTEM_PATH },
    TIMEOUT_MS,
  )
  const output = captured.kind === 'ended' ? captured.output : ''
  const all = parseSettings(output)
  const settings = new Map(all.map(({ key, value }) => [key, value]))
  const authorities = settings.get('http.sslcainfo') ?? ''
  return {
    identity: new Map([
      ...identify('author', settings, env),
      ...identify('committer', settings, env),
    ]),
    authorities: authorities === '' ? null : expandHome(authorities, home),
    obeyed: findObeyed(
      all.filter(({ key }) => NAMES_PATH.test(key)),
      { cwd, home },
    ),
  }
}

/** Each setting comes after its origin. A warning of git may stand before either. */
function parseSettings(output: string): readonly GitSetting[] {
  const words = output.split('\0')
  return words.flatMap((word, index) => {
    const { key, value } = ENTRY.exec(word)?.groups ?? {}
    if (key === undefined || value === undefined) return []
    return [{ file: ORIGIN.exec(words[index - 1] ?? '')?.[1] ?? null, key, value }]
  })
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
