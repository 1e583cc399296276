import { isObject, textOf, asksOfMcp } from '../asks.ts'
import type { Ask, HookFormat } from '../hook-format.ts'
import { denyPreToolUse } from './claude.ts'

/** developers.openai.com/codex/hooks, and `hooks/src/events/pre_tool_use.rs` of openai/codex. */
export const CODEX: HookFormat = {
  host: 'codex',
  title: 'Codex',
  file: '~/.codex/hooks.json',
  snippet: (command) =>
    JSON.stringify(
      {
        hooks: {
          PreToolUse: [{ hooks: [{ type: 'command', command: `${command} || exit 2` }] }],
        },
      },
      null,
      2,
    ),
  decided: 'apply_patch, MCP tools with a `url`',
  read(input) {
    const tool = textOf(input, 'tool_name')
    if (input['hook_event_name'] !== 'PreToolUse' || tool === null) return null
    return { cwd: textOf(input, 'cwd'), asks: asksOf(tool, input['tool_input']) }
  },
  deny: denyPreToolUse,
  // Codex runs a call although a hook has failed, and `allow` is such a failure.
  pass: () => ({ stdout: '', stderr: '', exitCode: 0 }),
}

function asksOf(tool: string, args: unknown): readonly Ask[] {
  if (tool.startsWith('mcp__')) return asksOfMcp(args)
  if (tool !== 'apply_patch') return []
  const patch = isObject(args) ? textOf(args, 'command') : null
  const asks = patch === null ? [] : asksOfPatch(patch)
  return asks.length > 0 ? asks : [{ kind: 'unclear', problem: 'has a patch that names no file' }]
}

/**
 * The files that a patch names in its headers. A line of content that looks like a header is asked
 * for too, which can only deny more.
 */
function asksOfPatch(patch: string): readonly Ask[] {
  const asks: Ask[] = []
  for (const line of patch.split('\n')) {
    const header = /^\s*\*\*\* (Add File|Update File|Delete File|Move to): *(.*?)\s*$/.exec(line)
    if (header === null) continue
    const [, kind, path = ''] = header
    const actions = kind === 'Update File' ? (['read', 'write'] as const) : (['write'] as const)
    asks.push(
      path === ''
        ? { kind: 'unclear', problem: 'has a patch with an empty file name' }
        : { kind: 'path', actions, path },
    )
  }
  return asks
}
