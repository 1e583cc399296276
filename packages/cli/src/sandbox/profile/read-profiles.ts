import { parseSource, unknownMember, type ParsedSource } from '@palisade/protocol'
import { readLimits } from '../parse-limits.ts'
import { parsePublish } from '../parse-publish.ts'
import { variableProblem, type Profile } from './profile.ts'

export type ProfilesOutcome =
  | { readonly kind: 'read'; readonly profiles: readonly Profile[] }
  /** One line for each fault, with its position in the file. */
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

type Path = readonly (string | number)[]
type Report = (path: Path, message: string) => void
type Members = Readonly<Record<string, unknown>>

const FILE_MEMBERS = ['profiles'] as const
const PROFILE_MEMBERS = ['workspaces', 'env', 'limits', 'publish', 'command'] as const
const MAX_PROFILES = 100
const MAX_ENTRIES = 100
const MAX_TEXT = 4_096
const PROFILE_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/

/** Reads the YAML text of a profile file, which is `shown` in messages. Never throws. */
export function readProfiles(shown: string, text: string): ProfilesOutcome {
  const source = parseSource(text, 'yaml')
  const problems: string[] = []
  const say = (offset: number, message: string): void => {
    const { line, column } = source.positionOf(offset)
    problems.push(`${shown}:${line}:${column}: ${message}`)
  }
  for (const { offset, message } of source.faults) say(offset, message)
  const profiles = problems.length === 0 ? readFile(source, say) : []
  return problems.length > 0 ? { kind: 'invalid', problems } : { kind: 'read', profiles }
}

function readFile(
  { documents }: ParsedSource,
  say: (offset: number, message: string) => void,
): readonly Profile[] {
  const [document, second] = documents
  if (second !== undefined) say(second.offsetOf([]), 'a second document is not read')
  if (document === undefined) {
    say(0, 'the file has no profiles; write `profiles:` with a name below it')
    return []
  }
  const report: Report = (path, message) => say(document.offsetOf(path), message)
  const file = membersOf(document.value, [], FILE_MEMBERS, report)
  const named = file['profiles']
  if (!isMembers(named)) {
    report(['profiles'], '`profiles` must be an object with a profile by each name')
    return []
  }
  const entries = Object.entries(named)
  if (entries.length > MAX_PROFILES)
    report(['profiles'], `\`profiles\` must have at most ${MAX_PROFILES} profiles`)
  return entries.map(([name, value]) => readProfile(name, value, report))
}

function readProfile(name: string, value: unknown, report: Report): Profile {
  const path = ['profiles', name]
  if (!PROFILE_NAME.test(name))
    report(
      path,
      `\`${name}\` is no name of a profile; write letters, digits, \`-\`, \`_\` and \`.\``,
    )
  const members = membersOf(value, path, PROFILE_MEMBERS, report)
  const texts = (member: (typeof PROFILE_MEMBERS)[number]): readonly string[] =>
    textsOf(members[member], [...path, member], report)
  const env = texts('env')
  for (const [index, variable] of env.entries()) {
    const problem = variableProblem(variable)
    if (problem !== null) report([...path, 'env', index], problem)
  }
  const publish = texts('publish')
  const ports = parsePublish(publish)
  if (ports.kind === 'invalid')
    for (const problem of ports.problems) report([...path, 'publish'], problem)
  const [program, ...args] = texts('command')
  if (program === undefined && members['command'] !== undefined)
    report([...path, 'command'], '`command` must have at least the name of a program')
  return {
    name,
    workspaces: texts('workspaces'),
    env,
    limits: limitsOf(members['limits'], [...path, 'limits'], report),
    publish,
    command: program === undefined ? null : [program, ...args],
  }
}

function limitsOf(value: unknown, path: Path, report: Report): Profile['limits'] {
  if (value === undefined) return []
  if (!isMembers(value)) {
    report(path, '`limits` must be an object such as `{processes: 200, tmp: 512M}`')
    return []
  }
  const pairs = Object.entries(value).map(([name, limit]): [string, string] => [
    name,
    String(limit),
  ])
  for (const pair of pairs) {
    const outcome = readLimits([pair])
    if (outcome.kind === 'invalid')
      for (const problem of outcome.problems) report([...path, pair[0]], problem)
  }
  return pairs
}

/** Reports members outside `known`. Returns no member for another kind of value. */
function membersOf(value: unknown, path: Path, known: readonly string[], report: Report): Members {
  if (!isMembers(value)) {
    const names = known.map((name) => `\`${name}\``).join(', ')
    report(path, `must be an object with ${names}`)
    return {}
  }
  for (const key of Object.keys(value))
    if (!known.includes(key)) report([...path, key], unknownMember(key, known))
  return value
}

function textsOf(value: unknown, path: Path, report: Report): readonly string[] {
  if (value === undefined) return []
  const member = path.at(-1)
  if (!Array.isArray(value) || value.length > MAX_ENTRIES) {
    report(path, `\`${member}\` must be an array of at most ${MAX_ENTRIES} texts`)
    return []
  }
  return value.flatMap((text: unknown, index) => {
    if (typeof text === 'string' && isPlain(text)) return [text]
    report(
      [...path, index],
      `\`${member}\` must have texts of 1 to ${MAX_TEXT} characters; put numbers and ` +
        '`true` in quotes',
    )
    return []
  })
}

function isPlain(text: string): boolean {
  return text !== '' && text.length <= MAX_TEXT && !text.includes('\0')
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
