import type { Ask, HookInput } from './hook-format.ts'

/** Asks of a tool, from its arguments. */
export type AsksOf = (args: HookInput) => readonly Ask[]

/** Reads the file or directory that these members name; versions of a host differ in the name. */
export function readOf(...members: readonly string[]): AsksOf {
  return (args) => pathAsks(args, members, ['read'])
}

export function writeOf(...members: readonly string[]): AsksOf {
  return (args) => pathAsks(args, members, ['write'])
}

/** An edit shows and changes the file. */
export function editOf(...members: readonly string[]): AsksOf {
  return (args) => pathAsks(args, members, ['read', 'write'])
}

/** A search reads the directory in which it starts; absent, the working directory. */
export function searchOf(member: string): AsksOf {
  return (args) =>
    args[member] === undefined || args[member] === null
      ? [{ kind: 'path', actions: ['read'], path: '.' }]
      : pathAsks(args, [member], ['read'])
}

/** A search by name reads the directories in which it and its pattern start. */
export function globOf(member: string): AsksOf {
  return (args) => [
    ...searchOf(member)(args),
    patternAsk(args['pattern'], textOf(args, member) ?? '.'),
  ]
}

/**
 * Reads the directory in which a pattern starts, or the file that it names without a wildcard. A
 * pattern that may lead out of that directory is unclear.
 */
export function patternAsk(pattern: unknown, directory: string): Ask {
  if (typeof pattern !== 'string' || pattern === '') return missing(['pattern'])
  const special = pattern.search(/[*?[\]{}()!@+\\]/)
  const slash = special < 0 ? pattern.length : pattern.lastIndexOf('/', special)
  const start = slash < 0 ? '.' : pattern.slice(0, slash) || '/'
  const rest = pattern.slice(Math.max(0, slash))
  // `{a,/etc}` and `*/../..` name other directories.
  if (/\.\.|\\|[{(][^})]*\//.test(rest))
    return { kind: 'unclear', problem: `has the pattern \`${pattern}\`, which names no directory` }
  return {
    kind: 'path',
    actions: ['read'],
    path: /^[/~]/.test(start) ? start : `${directory}/${start}`,
  }
}

export function fetchOf(member: string): AsksOf {
  return (args) => {
    const url = args[member]
    return typeof url === 'string' ? [{ kind: 'url', url }] : [missing([member])]
  }
}

/**
 * A tool of an MCP server is decided by its argument `url` alone, if that is a web address. It may
 * have no arguments, but none of another type: its server may take the first of a list.
 */
export function asksOfMcp(args: unknown): readonly Ask[] {
  if (args === undefined || args === null) return []
  if (!isObject(args)) return [{ kind: 'unclear', problem: 'has arguments that are no object' }]
  const { url } = args
  if (url === undefined || url === null) return []
  if (typeof url !== 'string') return [missing(['url'])]
  return /^https?:/i.test(url.trim()) ? [{ kind: 'url', url }] : []
}

/** The asks of a tool in `tools`; a tool that is not listed has no asks. */
export function asksOfTool(
  tools: Readonly<Record<string, AsksOf>>,
  tool: string,
  args: unknown,
): readonly Ask[] {
  const asksOf = Object.hasOwn(tools, tool) ? tools[tool] : undefined
  if (asksOf === undefined) return []
  return isObject(args) ? asksOf(args) : [{ kind: 'unclear', problem: 'has no arguments' }]
}

/** Every member that is there counts, because the host may read any of them. */
function pathAsks(
  args: HookInput,
  members: readonly string[],
  actions: readonly ('read' | 'write')[],
): readonly Ask[] {
  const present = members.filter((each) => args[each] !== undefined)
  if (present.length === 0) return [missing(members)]
  return present.map((member) => {
    const path = args[member]
    return typeof path === 'string' && path !== ''
      ? { kind: 'path', actions, path }
      : missing([member])
  })
}

function missing(members: readonly string[]): Ask {
  return { kind: 'unclear', problem: `has no text \`${members[0] ?? ''}\`` }
}

export function isObject(value: unknown): value is HookInput {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text of a member, or null. */
export function textOf(input: HookInput, member: string): string | null {
  const value = input[member]
  return typeof value === 'string' ? value : null
}

/** Arguments that some hosts send as the text of an object; another text stays as it is. */
export function parseArguments(args: unknown): unknown {
  if (typeof args !== 'string') return args
  try {
    return JSON.parse(args) as unknown
  } catch {
    return args
  }
}
