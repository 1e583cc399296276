import {
  requestsOfTool,
  editOf,
  fetchOf,
  globOf,
  parseArguments,
  readOf,
  searchOf,
  textOf,
  writeOf,
  type ReadRequests,
} from '../tool-requests.ts'
import type { HookAnswer, HookFormat, HookInput } from '../hook-format.ts'

const TOOLS: Readonly<Record<string, ReadRequests>> = {
  view: readOf('path'),
  create: writeOf('path'),
  edit: editOf('path'),
  str_replace_editor: (args) => requestsOfEditor(args),
  glob: globOf('path'),
  grep: searchOf('path'),
  web_fetch: fetchOf('url'),
}

/**
 * docs.github.com/en/copilot/reference, `preToolUse`. The event `PreToolUse` has members in
 * snake_case, and its answer is wrapped as VS Code reads it.
 */
export const COPILOT: HookFormat = {
  host: 'copilot',
  title: 'GitHub Copilot CLI and coding agent',
  file: '.github/hooks/palisade.json',
  snippet: (command) =>
    JSON.stringify(
      {
        version: 1,
        hooks: {
          preToolUse: [{ type: 'command', bash: `${command} || ${OTHERWISE}`, timeoutSec: 30 }],
        },
      },
      null,
      2,
    ),
  decided: 'view, create, edit, str_replace_editor, glob, grep, web_fetch',
  read(input) {
    const tool = textOf(input, isSnakeCase(input) ? 'tool_name' : 'toolName')
    if (tool === null) return null
    if (isSnakeCase(input) && input['hook_event_name'] !== 'PreToolUse') return null
    const args = parseArguments(input[isSnakeCase(input) ? 'tool_input' : 'toolArgs'])
    return { cwd: textOf(input, 'cwd'), requests: requestsOfTool(TOOLS, tool, args) }
  },
  deny,
  pass: () => ({ stdout: '{}\n', stderr: '', exitCode: 0 }),
}

/** Copilot ignores a hook that fails, whatever its status. */
const OTHERWISE =
  `echo '{"permissionDecision":"deny",` +
  `"permissionDecisionReason":"Palisade: denied, the hook cannot run"}'`

function isSnakeCase(input: HookInput): boolean {
  return input['hook_event_name'] !== undefined
}

function deny(reason: string, input: HookInput | null): HookAnswer {
  const decision = { permissionDecision: 'deny', permissionDecisionReason: reason }
  const wrapped = { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
  const answer = input !== null && isSnakeCase(input) ? { ...decision, ...wrapped } : decision
  return { stdout: `${JSON.stringify(answer)}\n`, stderr: '', exitCode: 0 }
}

function requestsOfEditor(args: HookInput): ReturnType<ReadRequests> {
  switch (args['command']) {
    case 'view':
      return readOf('path')(args)
    case 'create':
      return writeOf('path')(args)
    default:
      return editOf('path')(args)
  }
}
