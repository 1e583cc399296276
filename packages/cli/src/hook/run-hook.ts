import { decodeUtf8, readBoundedBody } from '@palisade/client'
import { parseJson } from '@palisade/protocol'
import { addAbortSignal } from 'node:stream'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'
import type { AgentIo, Io } from '../runtime/io.ts'
import { write } from '../runtime/write.ts'
import { isObject } from './tool-requests.ts'
import { describeUndecided } from './denial-text.ts'
import { findDenial } from './find-denial.ts'
import { HOOK_FORMATS } from './formats/hook-formats.ts'
import type { HookAnswer, HookFormat, HookInput, ToolCall } from './hook-format.ts'
import { requestsOfCall } from './requests-of-call.ts'

export type HookIo = AgentIo & Pick<Io, 'stdin' | 'stdout' | 'stderr' | 'home'>

/** A call may hold the content of a file. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024
/** Arguments of MCP tools may be deep. */
const MAX_DEPTH = 256
/** Hosts run the call when the hook takes too long, some after thirty seconds. */
const INPUT_TIMEOUT_MS = 5_000
const AGENT_TIMEOUT_MS = 12_000

/**
 * Answers the tool call on standard input in the form of `host`. Resolves to the exit code that the
 * host expects, and never rejects: every failure denies the call.
 */
export async function runHook(host: string, io: HookIo): Promise<number> {
  const format = HOOK_FORMATS.find((each) => each.host === host)
  if (format === undefined) {
    const known = HOOK_FORMATS.map((each) => `\`${each.host}\``).join(', ')
    const text = `error: unknown host; write \`palisade hook HOST\` with one of ${known}\n`
    await write(io.stderr, text).catch(() => false)
    return EXIT.usage
  }
  const { stdout, stderr, exitCode } = await answerInput(format, io)
  try {
    if (stderr !== '') await write(io.stderr, stderr)
    // A host that cannot read the denial would take the call as allowed.
    if (stdout !== '' && !(await write(io.stdout, stdout))) return EXIT.usage
    return exitCode
  } catch {
    return EXIT.usage
  }
}

async function answerInput(format: HookFormat, io: HookIo): Promise<HookAnswer> {
  let input: HookInput | null = null
  try {
    input = await readInput(io)
    const call = input === null ? null : format.read(input)
    if (input === null || call === null)
      return format.deny(describeUndecided(describeUnknown(format, input)), input)
    const reason = await denialOf(call, io)
    return reason === null ? format.pass(input) : format.deny(reason, input)
  } catch (error) {
    const problem = error instanceof CliError ? error.lines.join('; ') : 'the hook has failed'
    return format.deny(describeUndecided(problem), input)
  }
}

async function readInput({ stdin }: HookIo): Promise<HookInput | null> {
  addAbortSignal(AbortSignal.timeout(INPUT_TIMEOUT_MS), stdin)
  const source = stdin as AsyncIterable<Buffer>
  const bytes = await readBoundedBody(source, MAX_INPUT_BYTES).catch(() => null)
  const text = bytes === null ? null : decodeUtf8(bytes)
  const json = text === null ? null : parseJson(text, { maxDepth: MAX_DEPTH })
  return json?.ok === true && isObject(json.value) ? json.value : null
}

function describeUnknown({ title }: HookFormat, input: HookInput | null): string {
  return input === null
    ? `the input is no JSON object, as ${title} sends it`
    : `the input is no event of ${title} that this version knows`
}

/** The text of the denial; null if every request is allowed. */
async function denialOf(call: ToolCall, io: HookIo): Promise<string | null> {
  if (call.requests.length === 0) return null
  const asked = await requestsOfCall(call, io.home)
  if (!asked.ok) return describeUndecided(`the call ${asked.problem}`)
  return findDenial(asked.requests, io, AGENT_TIMEOUT_MS)
}
