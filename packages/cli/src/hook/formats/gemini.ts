import {
  requestsOfTool,
  editOf,
  globOf,
  patternRequest,
  readOf,
  searchOf,
  textOf,
  writeOf,
  type ReadRequests,
} from '../tool-requests.ts'
import type { ToolRequest, HookFormat, HookInput } from '../hook-format.ts'

const TOOLS: Readonly<Record<string, ReadRequests>> = {
  read_file: readOf('file_path', 'absolute_path'),
  read_many_files: requestsOfPatterns,
  list_directory: readOf('dir_path', 'path'),
  glob: globOf('dir_path'),
  grep_search: searchOf('dir_path'),
  search_file_content: searchOf('dir_path'),
  write_file: writeOf('file_path'),
  replace: editOf('file_path'),
  web_fetch: requestsOfPrompt,
}

/** geminicli.com/docs/hooks/reference, `BeforeTool`. */
export const GEMINI: HookFormat = {
  host: 'gemini',
  title: 'Gemini CLI',
  file: '~/.gemini/settings.json or /etc/gemini-cli/settings.json',
  snippet: (command) =>
    JSON.stringify(
      {
        hooks: {
          BeforeTool: [
            { matcher: '.*', hooks: [{ type: 'command', command: `${command} || exit 2` }] },
          ],
        },
      },
      null,
      2,
    ),
  decided:
    'read_file, read_many_files, write_file, replace, list_directory, glob, grep_search, web_fetch',
  read(input) {
    const tool = textOf(input, 'tool_name')
    if (input['hook_event_name'] !== 'BeforeTool' || tool === null) return null
    return { cwd: textOf(input, 'cwd'), requests: requestsOfTool(TOOLS, tool, input['tool_input']) }
  },
  deny: (reason) => ({
    stdout: `${JSON.stringify({ decision: 'deny', reason })}\n`,
    stderr: '',
    exitCode: 0,
  }),
  pass: () => ({ stdout: '{}\n', stderr: '', exitCode: 0 }),
}

/**
 * Gemini CLI takes every word with `://` from the prompt as an address, or the whole of `url`,
 * where `https:example.com` is an address too.
 */
function requestsOfPrompt(args: HookInput): readonly ToolRequest[] {
  for (const member of ['prompt', 'url'])
    if ((args[member] ?? '') !== '' && textOf(args, member) === null)
      return [{ kind: 'unclear', problem: `has no text \`${member}\`` }]
  const words = (textOf(args, 'prompt') ?? '').split(/\s+/).filter((word) => word.includes('://'))
  const direct = textOf(args, 'url') ?? ''
  const urls = direct === '' ? words : [...words, direct]
  if (urls.length === 0) return [{ kind: 'unclear', problem: 'names no address to fetch' }]
  return urls.flatMap(withRawFile).map((url) => ({ kind: 'url', url }))
}

/** Gemini CLI fetches a file of GitHub from another host than its page. */
function withRawFile(url: string): readonly string[] {
  return /^https?:\/\/github\.com\//i.test(url) && url.includes('/blob/')
    ? [url, 'https://raw.githubusercontent.com/']
    : [url]
}

function requestsOfPatterns(args: HookInput): readonly ToolRequest[] {
  const lists = [args['include'], args['paths']].filter(
    (each) => each !== undefined && each !== null,
  )
  return lists.length > 0 && lists.every((list) => Array.isArray(list) && list.length > 0)
    ? lists.flat().map((pattern) => patternRequest(pattern, '.'))
    : [{ kind: 'unclear', problem: 'has no list `include`' }]
}
