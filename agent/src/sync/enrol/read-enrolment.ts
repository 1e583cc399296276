import { isWholeKey, keyFileOf, readPrivateFile } from '@palisade/client'
import {
  deviceKeySchema,
  keptEnrolmentSchema,
  parseJson,
  type DeviceKey,
  type Enrolment,
  type KeptEnrolment,
} from '@palisade/protocol'
import { AgentError } from '../../host/errors.ts'
import { followRoots } from '../trust/root-chain.ts'

const MAX_BYTES = 65_536

/**
 * Reads the enrolment file of this machine, on which all trust of the agent rests.
 *
 * Throws `ERR_ENROLMENT_INVALID` with one line that names the remedy.
 */
export async function readEnrolment(path: string): Promise<KeptEnrolment> {
  const file = await readPrivateFile(path, MAX_BYTES)
  if (!file.ok) {
    const remedy =
      file.code === 'ENOENT'
        ? '; write one with `palisade enrol`, or set PALISADE_ENROLMENT_TOKEN'
        : ''
    throw refusal(path, `${file.message}${remedy}`)
  }
  const json = parseJson(file.text)
  if (!json.ok) throw refusal(path, json.problem.message)
  const parsed = keptEnrolmentSchema.safeParse(json.value)
  if (!parsed.success) {
    // The content stays out of the message: the path may name another file, with a secret.
    const issue = parsed.error.issues[0]
    throw refusal(
      path,
      `${issue?.path.join('.') || 'the document'}: ${issue?.message}; enrol again`,
    )
  }
  checkTrust(path, parsed.data)
  return parsed.data
}

/**
 * Reads the private key of this machine from beside its enrolment file.
 *
 * Throws `ERR_ENROLMENT_INVALID`.
 */
export async function readDeviceKey(enrolmentPath: string): Promise<DeviceKey> {
  const path = keyFileOf(enrolmentPath)
  const file = await readPrivateFile(path, MAX_BYTES)
  if (!file.ok) throw keyRefusal(path, file.message)
  const json = parseJson(file.text)
  const parsed = json.ok ? deviceKeySchema.safeParse(json.value) : null
  if (parsed?.success !== true || !isWholeKey(parsed.data))
    throw keyRefusal(path, 'is not the private key of a machine')
  return parsed.data
}

function keyRefusal(path: string, message: string): AgentError {
  return new AgentError('ERR_ENROLMENT_INVALID', [`key file ${path}: ${message}; enrol again`])
}

function checkTrust(path: string, enrolment: Enrolment): void {
  const server = new URL(enrolment.server)
  if (server.username !== '' || server.password !== '')
    throw refusal(
      path,
      'server: must not hold a user or password; write only `http(s)://host:port`',
    )
  const root = followRoots(enrolment.root, [])
  if (root === null) throw refusal(path, 'root: is not signed by itself; enrol again')
  if (root['x-org'] !== enrolment.org)
    throw refusal(path, 'root: belongs to another organization; enrol again')
}

function refusal(path: string, message: string): AgentError {
  return new AgentError('ERR_ENROLMENT_INVALID', [`enrolment file ${path}: ${message}`])
}
