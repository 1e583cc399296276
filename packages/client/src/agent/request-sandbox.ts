import {
  SANDBOXES_PATH,
  parseJson,
  type SandboxLaunch,
  type SandboxRequest,
} from '@palisade/protocol'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { unexpected } from '../client-error.ts'
import type { AgentClientOptions } from './agent-client.ts'
import { agentExchange, type AgentAnswer } from './agent-exchange.ts'

/** The walk of a large workspace takes seconds. */
const TIMEOUT_MS = 60_000
/** As the agent asks by `Retry-After`, while it starts as many sandboxes as it can at once. */
const TURN_MS = 1_000
const MAX_TURNS = 300

export type SandboxAnswer =
  | { readonly kind: 'ready'; readonly launch: SandboxLaunch }
  /** The command must not be run; `message` is for people. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

export interface TurnOptions {
  /** Called once, before the first pause. */
  readonly onWait?: () => void
  /** Milliseconds; default a timer. */
  readonly pause?: (ms: number) => Promise<unknown>
}

/**
 * Asks the agent for a sandbox, and again each second while it starts too many others. For the
 * program that becomes the command at once: loads no schemas, so it checks the members that it
 * returns itself. Rejects with `ClientError`.
 */
export async function startSandbox(
  options: AgentClientOptions,
  request: SandboxRequest,
  { onWait, pause = pauseFor }: TurnOptions = {},
): Promise<SandboxAnswer> {
  const ask = (): Promise<AgentAnswer> =>
    agentExchange({
      address: options,
      method: 'POST',
      path: SANDBOXES_PATH,
      body: JSON.stringify(request),
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    })
  let answer = await ask()
  if (answer.status === TOO_MANY_REQUESTS) onWait?.()
  for (let turns = 0; answer.status === TOO_MANY_REQUESTS && turns < MAX_TURNS; turns += 1) {
    await pause(TURN_MS)
    answer = await ask()
  }
  return answer.status === TOO_MANY_REQUESTS ? NO_TURN : readSandboxAnswer(answer)
}

const TOO_MANY_REQUESTS = 429
const NO_TURN: SandboxAnswer = {
  kind: 'refused',
  code: 'limit_exceeded',
  message:
    'the agent starts other sandboxes, and had no turn for this one within ' +
    `${(MAX_TURNS * TURN_MS) / 60_000} minutes; run the command again later`,
}

function readSandboxAnswer({ status, text }: AgentAnswer): SandboxAnswer {
  const json = parseJson(text)
  const value = json.ok && isObject(json.value) ? json.value : {}
  const { outcome, launch, error } = value
  if (status === 200 && outcome === 'ready') return { kind: 'ready', launch: readLaunch(launch) }
  if (!isObject(error)) throw unexpected(`status ${status}`)
  const { code, message } = error
  if (typeof code !== 'string' || typeof message !== 'string') throw unexpected('it has no message')
  return { kind: 'refused', code, message }
}

function readLaunch(value: unknown): SandboxLaunch {
  if (!isObject(value)) throw unexpected('it has no launch')
  const { id, program, arguments: words, warnings } = value
  if (
    typeof id !== 'string' ||
    typeof program !== 'string' ||
    !isTexts(words) ||
    !isTexts(warnings)
  )
    throw unexpected('its launch is incomplete')
  return { id, program, arguments: words, warnings }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
