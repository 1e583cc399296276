import {
  requestsOfTool,
  fetchOf,
  isObject,
  parseArguments,
  readOf,
  searchOf,
  textOf,
  requestsOfMcp,
  writeOf,
  type ReadRequests,
} from '../tool-requests.ts'
import type { ToolRequest, HookAnswer, HookFormat, HookInput } from '../hook-format.ts'

const PATH_MEMBERS = ['file_path', 'path', 'target_file'] as const

const TOOLS: Readonly<Record<string, ReadRequests>> = {
  Read: readOf(...PATH_MEMBERS),
  Write: writeOf(...PATH_MEMBERS),
  Delete: writeOf(...PATH_MEMBERS),
  Grep: searchOf('path'),
  WebFetch: fetchOf('url'),
}

const EVENTS = ['preToolUse', 'beforeReadFile', 'beforeTabFileRead', 'beforeMCPExecution'] as const

/** cursor.com/docs/agent/hooks. */
export const CURSOR: HookFormat = {
  host: 'cursor',
  title: 'Cursor',
  file: '~/.cursor/hooks.json or /etc/cursor/hooks.json',
  snippet: (command) =>
    JSON.stringify(
      {
        version: 1,
        hooks: Object.fromEntries(EVENTS.map((event) => [event, [{ command, failClosed: true }]])),
      },
      null,
      2,
    ),
  decided:
    'files read by the agent and by Tab, and their attachments; Write, Delete, Grep and WebFetch ' +
    'of preToolUse; MCP servers with a `url`, and MCP tools with one',
  read(input) {
    const requests = requestsOf(input)
    return requests === null ? null : { cwd: textOf(input, 'cwd') ?? workspaceOf(input), requests }
  },
  deny,
  // Cursor does not ask before a read, so `allow` has no effect there.
  pass: ({ hook_event_name: event }) => ({
    stdout:
      event === 'beforeReadFile' || event === 'beforeTabFileRead'
        ? '{"permission":"allow"}\n'
        : '{}\n',
    stderr: '',
    exitCode: 0,
  }),
}

function requestsOf(input: HookInput): readonly ToolRequest[] | null {
  switch (input['hook_event_name']) {
    case 'beforeReadFile':
    case 'beforeTabFileRead':
      return [...readOf('file_path')(input), ...requestsOfAttachments(input['attachments'])]
    case 'beforeMCPExecution':
      return [...requestsOfMcp(input), ...requestsOfMcpTool(input)]
    case 'beforeShellExecution':
      return typeof input['command'] === 'string' ? [] : null
    case 'preToolUse':
      return requestsOfCall(input)
    default:
      return null
  }
}

function requestsOfCall(input: HookInput): readonly ToolRequest[] | null {
  const tool = textOf(input, 'tool_name')
  if (tool === null) return null
  if (tool.startsWith('MCP:')) return requestsOfMcpTool(input)
  return requestsOfTool(TOOLS, tool, parseArguments(input['tool_input']))
}

function requestsOfMcpTool(input: HookInput): readonly ToolRequest[] {
  return requestsOfMcp(parseArguments(input['tool_input']))
}

/** Rule files that go to the model with the file. */
function requestsOfAttachments(attachments: unknown): readonly ToolRequest[] {
  if (attachments === undefined || attachments === null) return []
  if (!Array.isArray(attachments))
    return [{ kind: 'unclear', problem: 'has no list `attachments`' }]
  return attachments.flatMap((attachment: unknown) =>
    isObject(attachment)
      ? readOf('file_path', 'filePath')(attachment)
      : [{ kind: 'unclear', problem: 'has an attachment that is no object' } as const],
  )
}

function workspaceOf(input: HookInput): string | null {
  const roots = input['workspace_roots']
  const first: unknown = Array.isArray(roots) ? roots[0] : null
  return typeof first === 'string' ? first : null
}

/** Status 2 denies every event, also one whose object has another form. */
function deny(reason: string, input: HookInput | null): HookAnswer {
  const isKnown = input !== null && requestsOf(input) !== null
  const object = { permission: 'deny', user_message: reason, agent_message: reason }
  return isKnown
    ? { stdout: `${JSON.stringify(object)}\n`, stderr: '', exitCode: 0 }
    : {
        stdout: `${JSON.stringify({ ...object, continue: false })}\n`,
        stderr: `${reason}\n`,
        exitCode: 2,
      }
}
