import type { Ask, HookInput } from './hook-format.ts'

/** Asks of a tool, from its arguments. */
export type AsksOf = (args: HookInput) => readonly Ask[]

/** Reads the file or directory that one of these members names; the first present one counts. */
export function readOf(...members: readonly string[]): AsksOf {
  return (args) => [pathAsk(args, members, ['read'])]
}

export function writeOf(...members: readonly string[]): AsksOf {
  return (args) => [pathAsk(args, members, ['write'])]
}

/** An edit shows and changes the file. */
export function editOf(...members: readonly string[]): AsksOf {
  return (args) => [pathAsk(args, members, ['read', 'write'])]
}

/** A search reads the directory in which it starts; absent, the working directory. */
export function searchOf(member: string): AsksOf {
  return (args) =>
    args[member] === undefined || args[member] === null
      ? [{ kind: 'path', actions: ['read'], path: '.' }]
      : [pathAsk(args, [member], ['read'])]
}

export function fetchOf(member: string): AsksOf {
  return (args) => {
    const url = args[member]
    return typeof url === 'string' ? [{ kind: 'url', url }] : [missing([member])]
  }
}

/** A tool of an MCP server is clear only if its argument `url` is a web address. */
export function urlOfMcp(args: HookInput): readonly Ask[] {
  const { url } = args
  return typeof url === 'string' && /^https?:/i.test(url.trim()) ? [{ kind: 'url', url }] : []
}

/** The asks of a tool in `tools`; a tool that is not listed has none. */
export function asksOfTool(
  tools: Readonly<Record<string, AsksOf>>,
  tool: string,
  args: unknown,
): readonly Ask[] {
  const asksOf = Object.hasOwn(tools, tool) ? tools[tool] : undefined
  if (asksOf === undefined) return []
  return isObject(args) ? asksOf(args) : [{ kind: 'unclear', problem: 'has no arguments' }]
}

function pathAsk(
  args: HookInput,
  members: readonly string[],
  actions: readonly ('read' | 'write')[],
): Ask {
  const member = members.find((each) => args[each] !== undefined)
  const path = member === undefined ? undefined : args[member]
  return typeof path === 'string' && path !== ''
    ? { kind: 'path', actions, path }
    : missing(members)
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

/** Arguments that some hosts send as the text of an object. */
export function parseArguments(args: unknown): unknown {
  if (typeof args !== 'string') return args
  try {
    return JSON.parse(args) as unknown
  } catch {
    return null
  }
}
