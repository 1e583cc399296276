import { enrolmentSchema, parseJson, type Enrolment } from '@palisade/protocol'
import { AgentError } from '../errors.ts'
import { followRoots } from '../sync/root-chain.ts'
import { readPrivateFile } from './private-file.ts'

const MAX_BYTES = 65_536

/**
 * Reads the token file of this machine: everything that the agent trusts.
 *
 * Throws `ERR_ENROLMENT_INVALID` with one line that says what to do.
 */
export async function readEnrolment(path: string): Promise<Enrolment> {
  const file = await readPrivateFile(path, MAX_BYTES)
  if (!file.ok) {
    const mend =
      file.code === 'ENOENT'
        ? '; write one with `palisade enrol --out FILE` or `palisade-server device enrol`'
        : ''
    throw refusal(path, `${file.message}${mend}`)
  }
  const json = parseJson(file.text)
  if (!json.ok) throw refusal(path, json.problem.message)
  const parsed = enrolmentSchema.safeParse(json.value)
  if (!parsed.success) {
    // Values stay out of the message: one of them is the token.
    const issue = parsed.error.issues[0]
    throw refusal(
      path,
      `${issue?.path.join('.') || 'the document'}: ${issue?.message}; enrol again`,
    )
  }
  checkTrust(path, parsed.data)
  return parsed.data
}

function checkTrust(path: string, enrolment: Enrolment): void {
  const server = new URL(enrolment.server)
  if (server.username !== '' || server.password !== '')
    throw refusal(
      path,
      'server: must not hold a user or password; write only `http(s)://host:port`',
    )
  // What could end the header line or hide in it has no place in a bearer token (RFC 6750 §2.1).
  if (!/^[A-Za-z0-9._~+/=-]+$/.test(enrolment.device_token))
    throw refusal(path, 'device_token: is not a bearer token; enrol again')
  const root = followRoots(enrolment.root, [])
  if (root === null) throw refusal(path, 'root: is not a root that has signed itself; enrol again')
  if (root['x-org'] !== enrolment.org)
    throw refusal(path, 'root: is of another organization; enrol again')
}

function refusal(path: string, message: string): AgentError {
  return new AgentError('ERR_ENROLMENT_INVALID', [`token file ${path}: ${message}`])
}
