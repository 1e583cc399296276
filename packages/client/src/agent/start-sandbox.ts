import {
  SANDBOXES_PATH,
  parseJson,
  type SandboxLaunch,
  type SandboxRequest,
} from '@palisade/protocol'
import { unexpected } from '../client-error.ts'
import type { AgentClientOptions } from './agent-client.ts'
import { agentExchange } from './agent-exchange.ts'

/** The walk of a large workspace takes seconds. */
const TIMEOUT_MS = 60_000

export type SandboxAnswer =
  | { readonly kind: 'ready'; readonly launch: SandboxLaunch }
  /** The command must not be run; `message` is for people. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }

/**
 * Asks the agent for a sandbox. For the program that becomes the command at once: loads no schemas,
 * so it checks the members that it returns itself. Rejects with `ClientError`.
 */
export async function startSandbox(
  options: AgentClientOptions,
  request: SandboxRequest,
): Promise<SandboxAnswer> {
  const { status, text } = await agentExchange({
    address: options,
    method: 'POST',
    path: SANDBOXES_PATH,
    body: JSON.stringify(request),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  })
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
