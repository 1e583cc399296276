import { createDeviceKey, createProver, type Prove } from '@palisade/client'
import {
  deviceKeySchema,
  deviceTokenResponseSchema,
  enrolmentSchema,
  type DeviceTokenResponse,
  type Enrolment,
} from '@palisade/protocol'
import type { LightMyRequestResponse } from 'fastify'
import { readFileSync } from 'node:fs'

/** The origin of injected requests. */
export const TEST_ORIGIN = 'http://localhost'

/** An enrolled machine with a device token. */
export interface TestDevice {
  readonly enrolment: Enrolment
  readonly prove: Prove
  readonly token: string
}

/** The part of a test server that a machine needs. */
interface Sender {
  now(): number
  send(
    method: 'POST',
    url: string,
    options: { as?: string; payload?: object; headers: Record<string, string> },
  ): Promise<LightMyRequestResponse>
}

/** Returns the headers of a machine's request; `url` is a path with an optional query. */
export function headersOf(
  { prove, token }: Pick<TestDevice, 'prove' | 'token'>,
  method: string,
  url: string,
): { authorization: string; dpop: string } {
  const proven = { method, url: TEST_ORIGIN + (url.split('?')[0] ?? ''), accessToken: token }
  return { authorization: `DPoP ${token}`, dpop: prove(proven) }
}

/** Sends the enrolment of a new machine by the signed-in user `as`. */
export async function sendEnrolment(
  server: Sender,
  as: string,
  org: string,
  payload: object = {},
  prove = newProver(server),
): Promise<LightMyRequestResponse> {
  const url = `/api/v1/orgs/${org}/devices`
  const dpop = prove({ method: 'POST', url: TEST_ORIGIN + url })
  return server.send('POST', url, { as, payload, headers: { dpop } })
}

/** Enrols a new machine and fetches its device token. */
export async function enrolTestDevice(
  server: Sender,
  as: string,
  org: string,
  payload: object = {},
): Promise<TestDevice> {
  const prove = newProver(server)
  const answer = await sendEnrolment(server, as, org, payload, prove)
  if (answer.statusCode !== 201) throw new Error(`enrolment failed: ${answer.body}`)
  const enrolment = enrolmentSchema.parse(answer.json())
  return { enrolment, prove, token: await fetchDeviceToken(server, prove) }
}

/** Fetches a device token. Throws with the server's answer when it is refused. */
export async function fetchDeviceToken(server: Sender, prove: Prove): Promise<string> {
  const answer = await sendTokenRequest(server, prove)
  if (answer.statusCode !== 200) throw new Error(`no device token: ${answer.body}`)
  return answer.json<DeviceTokenResponse>().access_token
}

export function sendTokenRequest(server: Sender, prove: Prove): Promise<LightMyRequestResponse> {
  const url = '/api/v1/device/token'
  const dpop = prove({ method: 'POST', url: TEST_ORIGIN + url })
  return server.send('POST', url, { headers: { dpop } })
}

/** Creates a prover with a new key and the clock of the server. */
export function newProver(server: Pick<Sender, 'now'>): Prove {
  return createProver(createDeviceKey(), server.now)
}

/** Opens the machine of an enrolment file, for requests to a server in another process. */
export async function openFileDevice(
  enrolmentFile: string,
): Promise<{ token: string; fetch(url: string, init?: RequestInit): Promise<Response> }> {
  const enrolment = enrolmentSchema.parse(JSON.parse(readFileSync(enrolmentFile, 'utf8')))
  const key = deviceKeySchema.parse(JSON.parse(readFileSync(`${enrolmentFile}.key`, 'utf8')))
  const prove = createProver(key, Date.now)
  const url = `${enrolment.server}/api/v1/device/token`
  const headers = { dpop: prove({ method: 'POST', url }) }
  const answer = await fetch(url, { method: 'POST', headers })
  const { access_token: token } = deviceTokenResponseSchema.parse(await answer.json())
  return {
    token,
    fetch(place, init = {}) {
      const [url = place] = place.split('?')
      const dpop = prove({ method: 'GET', url, accessToken: token })
      return fetch(place, { ...init, headers: { authorization: `DPoP ${token}`, dpop } })
    },
  }
}
