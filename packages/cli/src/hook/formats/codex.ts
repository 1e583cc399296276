import { isObject, textOf, requestsOfMcp } from '../tool-requests.ts'
import type { ToolRequest, HookFormat } from '../hook-format.ts'
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
    return { cwd: textOf(input, 'cwd'), requests: requestsOf(tool, input['tool_input']) }
  },
  deny: denyPreToolUse,
  // Codex runs a call although a hook has failed, and `allow` is such a failure.
  pass: () => ({ stdout: '', stderr: '', exitCode: 0 }),
}

function requestsOf(tool: string, args: unknown): readonly ToolRequest[] {
  if (tool.startsWith('mcp__')) return requestsOfMcp(args)
  if (tool !== 'apply_patch') return []
  const patch = isObject(args) ? textOf(args, 'command') : null
  const requests = patch === null ? [] : requestsOfPatch(patch)
  return requests.length > 0
    ? requests
    : [{ kind: 'unclear', problem: 'has a patch that names no file' }]
}

/**
 * The files that a patch names in its headers. A line of content that looks like a header is asked
 * for too, which can only deny more.
 */
function requestsOfPatch(patch: string): readonly ToolRequest[] {
  const requests: ToolRequest[] = []
  for (const line of patch.split('\n')) {
    const header = /^\s*\*\*\* (Add File|Update File|Delete File|Move to): *(.*?)\s*$/.exec(line)
    if (header === null) continue
    const [, kind, path = ''] = header
    const actions = kind === 'Update File' ? (['read', 'write'] as const) : (['write'] as const)
    requests.push(
      path === ''
        ? { kind: 'unclear', problem: 'has a patch with an empty file name' }
        : { kind: 'path', actions, path },
    )
  }
  return requests
}
