import type { ToolRequest, HookInput } from './hook-format.ts'

/** Reads the requests of a tool from its arguments. */
export type ReadRequests = (args: HookInput) => readonly ToolRequest[]

/** Reads the file or directory that these members name; versions of a host differ in the name. */
export function readOf(...members: readonly string[]): ReadRequests {
  return (args) => pathRequests(args, members, ['read'])
}

export function writeOf(...members: readonly string[]): ReadRequests {
  return (args) => pathRequests(args, members, ['write'])
}

/** An edit shows and changes the file. */
export function editOf(...members: readonly string[]): ReadRequests {
  return (args) => pathRequests(args, members, ['read', 'write'])
}

/** A search reads the directory in which it starts; absent, the working directory. */
export function searchOf(member: string): ReadRequests {
  return (args) =>
    args[member] === undefined || args[member] === null
      ? [{ kind: 'path', actions: ['read'], path: '.' }]
      : pathRequests(args, [member], ['read'])
}

/** A search by name reads the directories in which it and its pattern start. */
export function globOf(member: string): ReadRequests {
  return (args) => [
    ...searchOf(member)(args),
    patternRequest(args['pattern'], textOf(args, member) ?? '.'),
  ]
}

/**
 * Reads the directory in which a pattern starts, or the file that it names without a wildcard. A
 * pattern that may lead out of that directory is unclear.
 */
export function patternRequest(pattern: unknown, directory: string): ToolRequest {
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

export function fetchOf(member: string): ReadRequests {
  return (args) => {
    const url = args[member]
    return typeof url === 'string' ? [{ kind: 'url', url }] : [missing([member])]
  }
}

/**
 * A tool of an MCP server is decided by its argument `url` alone, if that is a web address. It may
 * have no arguments, but none of another type: its server may take the first of a list.
 */
export function requestsOfMcp(args: unknown): readonly ToolRequest[] {
  if (args === undefined || args === null) return []
  if (!isObject(args)) return [{ kind: 'unclear', problem: 'has arguments that are no object' }]
  const { url } = args
  if (url === undefined || url === null) return []
  if (typeof url !== 'string') return [missing(['url'])]
  return /^https?:/i.test(url.trim()) ? [{ kind: 'url', url }] : []
}

/** The requests of a tool in `tools`; a tool that is not listed has none. */
export function requestsOfTool(
  tools: Readonly<Record<string, ReadRequests>>,
  tool: string,
  args: unknown,
): readonly ToolRequest[] {
  const readRequests = Object.hasOwn(tools, tool) ? tools[tool] : undefined
  if (readRequests === undefined) return []
  return isObject(args) ? readRequests(args) : [{ kind: 'unclear', problem: 'has no arguments' }]
}

/** Every member that is there counts, because the host may read any of them. */
function pathRequests(
  args: HookInput,
  members: readonly string[],
  actions: readonly ('read' | 'write')[],
): readonly ToolRequest[] {
  const present = members.filter((each) => args[each] !== undefined)
  if (present.length === 0) return [missing(members)]
  return present.map((member) => {
    const path = args[member]
    return typeof path === 'string' && path !== ''
      ? { kind: 'path', actions, path }
      : missing([member])
  })
}

function missing(members: readonly string[]): ToolRequest {
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
