import {
  enrolmentSchema,
  parseEnrolmentToken,
  type DeviceKey,
  type Enrolment,
  type EnrolmentTokenParts,
} from '@palisade/protocol'
import { hash } from 'node:crypto'
import { ClientError, unexpected } from '../client-error.ts'
import { parseAnswer } from '../parse-answer.ts'
import { exchange } from '../server/exchange.ts'
import type { Fetch } from '../server/fetch.ts'
import { parseServerUrl } from '../server/server-url.ts'
import { createProver } from './proof.ts'

const PATH = '/api/v1/enrol'
const TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 64 * 1024

/**
 * Enrols this machine by an enrolment token, without a user. A repeat with the same token and key
 * gets the same device. The answer is trusted only with the root that the token pins.
 *
 * Throws ClientError; `ERR_ARGUMENT_INVALID` for a text that is no enrolment token.
 */
export async function enrolMachine(options: {
  /** One line, as shown at its creation. */
  readonly token: string
  readonly key: DeviceKey
  /** A name for people. Without one the machine is known by its id. */
  readonly name?: string | undefined
  readonly fetch: Fetch
  /** Epoch milliseconds. */
  readonly clock: () => number
}): Promise<Enrolment> {
  const parts = parseEnrolmentToken(options.token)
  if (parts === null)
    throw new ClientError(
      'ERR_ARGUMENT_INVALID',
      'this is no enrolment token; copy the whole line that begins with `pal_enr_`',
    )
  const server = parseServerUrl(parts.server)
  const wire = {
    server,
    fetch: options.fetch,
    timeoutMs: TIMEOUT_MS,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  }
  const prove = createProver(options.key, options.clock)
  const text = await exchange(wire, {
    method: 'POST',
    path: PATH,
    headers: { dpop: prove({ method: 'POST', url: new URL(PATH, server).href }) },
    body: {
      token: parts.secret,
      ...(options.name === undefined ? {} : { name: options.name }),
    },
  })
  const enrolment = parseAnswer(enrolmentSchema, text)
  requirePinned(enrolment, parts)
  // The server address of the token is the one known to work.
  return { ...enrolment, server }
}

function requirePinned({ org, user, root }: Enrolment, parts: EnrolmentTokenParts): void {
  if (hash('sha256', root, 'hex') !== parts.root_sha256)
    throw unexpected('its root is not the one that the enrolment token pins')
  if (org !== parts.org) throw unexpected('it is of another organization than the enrolment token')
  if (user !== null) throw unexpected('it names a user, and the enrolment token is of none')
}
