import {
  accessRequestSchema,
  createAccessRequestSchema,
  listAccessRequestsResponseSchema,
  pageQuerySchema,
} from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import { createRateLimiter, type RateLimiter } from '../../identity/limits/rate-limiter.ts'
import { formatUser } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { ApiError, permissionDenied } from '../../platform/api-error.ts'
import type { DeviceIdentity, ViewService } from '../../views/view-service.ts'
import type { AskingDevice } from './access-questions.ts'
import type { AccessService } from './access-service.ts'

const PATH = '/api/v1/device/access-requests'
const tags = ['devices']
const MINUTE_MS = 60_000
/**
 * Most calls of one machine in a minute: a person asks now and then, a program waits for an answer.
 */
const MOST = { asked: 10, listed: 120 } as const

export interface DeviceAccessRouteDeps {
  readonly service: Pick<AccessService, 'listOf' | 'requestFor'>
  readonly views: Pick<ViewService, 'identify'>
  readonly proofs: Pick<Proofs, 'requireTokenProof'>
  readonly monotonicMs: () => number
}

/** `GET` and `POST /api/v1/device/access-requests`, for the user of a machine. */
export function deviceAccessRoutes(deps: DeviceAccessRouteDeps): Route[] {
  const { service, views, proofs } = deps
  const count = (most: number) => createRateLimiter({ most, windowMs: MINUTE_MS }, deps.monotonicMs)
  const [asked, listed] = [count(MOST.asked), count(MOST.listed)]

  const prove = async (request: FastifyRequest): Promise<void> => {
    await proofs.requireTokenProof(request)
    requireUserOf(await views.identify(request.headers.authorization))
  }
  const identify = async (authorization: string | undefined, attempts: RateLimiter) => {
    const device = await views.identify(authorization)
    const seconds = attempts.waitSeconds(device.deviceId)
    if (seconds > 0) throw tooMany(seconds)
    attempts.add(device.deviceId)
    return device
  }

  return [
    defineRoute(
      {
        method: 'GET',
        path: PATH,
        operationId: 'listDeviceAccessRequests',
        tags,
        summary: 'List the access requests of the user of this device, newest first',
        callers: 'machines',
        credential: 'device_token',
        prove,
        headers: proofSchema,
        query: pageQuerySchema,
        config: { quiet: true, yields: 'begins' },
        answers: { 200: listAccessRequestsResponseSchema },
      },
      async ({ headers, query }) => {
        const device = await identify(headers.authorization, listed)
        return service.listOf({ org: device.org, username: requireUserOf(device) }, query)
      },
    ),
    defineRoute(
      {
        method: 'POST',
        path: PATH,
        operationId: 'createDeviceAccessRequest',
        tags,
        summary: 'Ask for access for the user of this device, on all devices of the user',
        callers: 'machines',
        credential: 'device_token',
        prove,
        headers: proofSchema,
        body: createAccessRequestSchema,
        config: { yields: 'begins' },
        answers: { 201: accessRequestSchema },
      },
      async ({ headers, body, request }) => {
        const device = await identify(headers.authorization, asked)
        return service.requestFor(askerOf(device, request), body)
      },
    ),
  ]
}

function askerOf(device: DeviceIdentity, { ip, id }: FastifyRequest): AskingDevice {
  const username = requireUserOf(device)
  const author = { actor: formatUser(username), address: ip, request_id: id }
  return { org: device.org, username, device_id: device.deviceId, author }
}

function requireUserOf({ user }: DeviceIdentity): string {
  if (user === null)
    throw permissionDenied('this device has no user, and grants are for users; enrol it for one')
  return user
}

function tooMany(seconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many requests of one device; try again later', {
    headers: { 'retry-after': String(seconds) },
  })
}
