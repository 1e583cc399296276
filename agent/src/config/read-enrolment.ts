import { enrolmentSchema, parseJson, type Enrolment } from '@palisade/protocol'
import { importJWK } from 'jose'
import { AgentError } from '../errors.ts'
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
  await checkTrust(path, parsed.data)
  return parsed.data
}

async function checkTrust(path: string, enrolment: Enrolment): Promise<void> {
  const server = new URL(enrolment.server)
  if (server.username !== '' || server.password !== '')
    throw refusal(
      path,
      'server: must not hold a user or password; write only `http(s)://host:port`',
    )
  // What could end the header line or hide in it has no place in a bearer token (RFC 6750 §2.1).
  if (!/^[A-Za-z0-9._~+/=-]+$/.test(enrolment.device_token))
    throw refusal(path, 'device_token: is not a bearer token; enrol again')
  const kids = enrolment.bundle_keys.keys.map((key) => key.kid)
  if (new Set(kids).size !== kids.length)
    throw refusal(path, 'bundle_keys: two keys have the same `kid`; enrol again')
  for (const key of enrolment.bundle_keys.keys) {
    try {
      await importJWK({ ...key, alg: 'EdDSA' })
    } catch (error) {
      throw refusal(path, `bundle_keys: key \`${key.kid}\` is not a public key; enrol again`, error)
    }
  }
}

function refusal(path: string, message: string, cause?: unknown): AgentError {
  return new AgentError('ERR_ENROLMENT_INVALID', [`token file ${path}: ${message}`], cause)
}
