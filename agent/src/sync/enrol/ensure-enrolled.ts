import {
  backOffMs,
  ClientError,
  createDeviceKey,
  enrolMachine,
  keepName,
  keyFileOf,
  readPrivateFile,
  writeKeyFile,
  type Fetch,
} from '@palisade/client'
import { nameOfHost, type DeviceKey, type KeptEnrolment } from '@palisade/protocol'
import { lstat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentLog } from '../../host/agent-log.ts'
import type { AgentConfig } from '../../host/config/config.ts'
import { preparePrivateDirectory } from '../../host/config/private-directory.ts'
import { readDeviceKey } from './read-enrolment.ts'
import { AgentError, systemErrorCode } from '../../host/errors.ts'
import { MAX_RETRY_AFTER_MS } from '../transport/classify-answer.ts'
import { writeDurably } from '../../host/durable-file.ts'

const MAX_TOKEN_BYTES = 4096
const RETRY = { firstMs: 5_000, capMs: 5 * 60_000 } as const
/** Statuses of the server that a retry does not change. */
const FINAL_STATUSES: readonly number[] = [400, 401, 403, 409]

export interface EnrolEnvironment {
  readonly fetch: Fetch
  readonly log: AgentLog
  /** Host name of this machine, shown to people. */
  readonly hostName: string
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  /** Default: a timer of the process. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

type EnrolmentPaths = Pick<AgentConfig, 'agentDir' | 'enrolmentPath' | 'enrolmentTokenPath'>

/**
 * Enrols a machine that has an enrolment token but no enrolment file, and retries until the server
 * answers. The key is on disk before the request: if a crash or the network loses the answer, the
 * next attempt with the same key gets the same device.
 *
 * Returns false when `stop` aborts first. Throws `ERR_ENROLMENT_INVALID` for an unusable file and
 * `ERR_ENROLMENT_REFUSED` for a token that the server refuses.
 */
export async function ensureEnrolled(
  paths: EnrolmentPaths,
  from: EnrolEnvironment,
  stop: AbortSignal,
): Promise<boolean> {
  const { enrolmentPath, enrolmentTokenPath } = paths
  if (enrolmentTokenPath === null || (await isThere(enrolmentPath))) return true
  const token = await readToken(enrolmentTokenPath)
  if (dirname(enrolmentPath) === paths.agentDir) await preparePrivateDirectory(paths.agentDir)
  const key = await ensureKey(enrolmentPath)
  const enrolment = await askUntilAnswered({ token, key }, from, stop)
  if (enrolment === null) return false
  await writeDurably(enrolmentPath, `${JSON.stringify(enrolment, null, 2)}\n`)
  from.log.info({ org: enrolment.org, device_id: enrolment.device_id }, 'machine enrolled')
  return true
}

async function readToken(path: string): Promise<string> {
  const file = await readPrivateFile(path, MAX_TOKEN_BYTES)
  if (!file.ok)
    throw new AgentError('ERR_ENROLMENT_INVALID', [`enrolment token ${path}: ${file.message}`])
  return file.text.trim()
}

/** Reads the key of an earlier attempt, or creates one. */
async function ensureKey(enrolmentPath: string): Promise<DeviceKey> {
  const path = keyFileOf(enrolmentPath)
  if (await isThere(path)) return readDeviceKey(enrolmentPath)
  const key = createDeviceKey()
  try {
    await writeKeyFile(path, key)
  } catch (error) {
    const code = systemErrorCode(error) ?? 'unknown error'
    const problem = `key file ${path}: cannot be written (${code})`
    throw new AgentError('ERR_ENROLMENT_INVALID', [problem], error)
  }
  return key
}

async function askUntilAnswered(
  machine: { readonly token: string; readonly key: DeviceKey },
  { fetch, log, hostName, clock, random, pause = sleepUntil }: EnrolEnvironment,
  stop: AbortSignal,
): Promise<KeptEnrolment | null> {
  const name = nameOfHost(hostName) ?? undefined
  for (let failures = 0; !stop.aborted; failures += 1) {
    try {
      return keepName(await enrolMachine({ ...machine, name, fetch, clock }), name)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      if (isFinal(error))
        throw new AgentError('ERR_ENROLMENT_REFUSED', [`cannot enrol: ${error.message}`], error)
      const askedMs = Math.min(error.api?.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
      const waitMs = Math.max(backOffMs(failures, { ...RETRY, random }), askedMs)
      log.warn({ code: error.code, reason: error.message, wait_ms: waitMs }, 'cannot enrol yet')
      // Rejects when the agent stops; the loop condition handles that.
      await pause(waitMs, stop).catch(() => undefined)
    }
  }
  return null
}

function isFinal({ code, api }: ClientError): boolean {
  if (code === 'ERR_ARGUMENT_INVALID' || code === 'ERR_SERVER_URL_INVALID') return true
  return api !== undefined && FINAL_STATUSES.includes(api.status)
}

function sleepUntil(ms: number, signal: AbortSignal): Promise<unknown> {
  return sleep(ms, undefined, { signal })
}

/** Also true for an unusable file, which its reader reports. */
async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path)
    return true
  } catch (error) {
    return systemErrorCode(error) !== 'ENOENT'
  }
}
