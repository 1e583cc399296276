import {
  requestsOfTool,
  editOf,
  fetchOf,
  globOf,
  readOf,
  searchOf,
  textOf,
  requestsOfMcp,
  writeOf,
  type ReadRequests,
} from '../tool-requests.ts'
import type { ToolRequest, HookAnswer, HookFormat, HookInput } from '../hook-format.ts'

const TOOLS: Readonly<Record<string, ReadRequests>> = {
  Read: readOf('file_path'),
  NotebookRead: readOf('notebook_path'),
  LS: readOf('path'),
  Glob: globOf('path'),
  Grep: searchOf('path'),
  Write: writeOf('file_path'),
  Edit: editOf('file_path'),
  MultiEdit: editOf('file_path'),
  NotebookEdit: editOf('notebook_path'),
  WebFetch: fetchOf('url'),
}

/** code.claude.com/docs/en/hooks, `PreToolUse`. */
export const CLAUDE: HookFormat = {
  host: 'claude',
  title: 'Claude Code',
  file: '~/.claude/settings.json or /etc/claude-code/managed-settings.json',
  snippet: (command) =>
    JSON.stringify(
      {
        hooks: {
          PreToolUse: [
            { matcher: '*', hooks: [{ type: 'command', command: `${command} || exit 2` }] },
          ],
        },
      },
      null,
      2,
    ),
  decided:
    'Read, Write, Edit, MultiEdit, NotebookEdit, LS, Glob, Grep, WebFetch, MCP tools with a `url`',
  read(input) {
    const tool = textOf(input, 'tool_name')
    if (input['hook_event_name'] !== 'PreToolUse' || tool === null) return null
    return { cwd: textOf(input, 'cwd'), requests: requestsOf(tool, input['tool_input']) }
  },
  deny: denyPreToolUse,
  pass: () => ({ stdout: '', stderr: '', exitCode: 0 }),
}

function requestsOf(tool: string, args: unknown): readonly ToolRequest[] {
  if (tool.startsWith('mcp__')) return requestsOfMcp(args)
  return requestsOfTool(TOOLS, tool, args).flatMap(withUpgrade)
}

/** Claude Code fetches an `http:` address over `https:`, so both are asked for. */
function withUpgrade(request: ToolRequest): readonly ToolRequest[] {
  if (request.kind !== 'url' || !/^\s*http:/i.test(request.url)) return [request]
  return [request, { kind: 'url', url: request.url.replace(/http:/i, 'https:') }]
}

/**
 * Denies a call in the form of Claude Code, which Codex reads too. Status 2 denies every event by
 * its text on standard error; the object counts for the event that it names.
 */
export function denyPreToolUse(reason: string, input: HookInput | null): HookAnswer {
  if (input === null || input['hook_event_name'] !== 'PreToolUse')
    return { stdout: '', stderr: `${reason}\n`, exitCode: 2 }
  const hookSpecificOutput = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  }
  return { stdout: `${JSON.stringify({ hookSpecificOutput })}\n`, stderr: '', exitCode: 0 }
}
