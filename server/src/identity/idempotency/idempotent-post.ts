import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Admission } from '../admission.ts'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import type { Answer } from '../../http/answer.ts'
import type { StoreWriter } from '../../store/store.ts'
import { answerOnce, readOnceRequest, type OnceRequest } from './answer-once.ts'

/** The header in the schema of a route; `onceOf` validates it. */
export const idempotencyKeyShape = {
  'idempotency-key': z.string().optional().meta({
    description:
      'Kept for 24 hours: a repetition gets the first answer again, or 409 if it held a secret',
  }),
}
/** Loose: a strict schema would drop the other headers from the request. */
export const idempotencyKeySchema = z.looseObject(idempotencyKeyShape)

/**
 * The key of an admitted POST whose body is valid. Throws 400 for a malformed key. `of` is an
 * identity that narrows the scope of the key, in addition to caller and path.
 */
export function onceOf(
  admission: Admission,
  request: FastifyRequest,
  { hasSecret = false, of }: { readonly hasSecret?: boolean; readonly of?: string } = {},
): OnceRequest {
  const key = request.headers['idempotency-key']
  const { method, routeOptions, params, body } = request
  return readOnceRequest({
    key: Array.isArray(key) ? key.join(', ') : key,
    principal: admission.principalOf(request),
    operation: [
      method,
      routeOptions.url ?? '',
      ...Object.values(params as Record<string, string>),
      ...(of === undefined ? [] : [of]),
    ],
    // Without a schema the body is unparsed: up to 64 KiB, of which each byte would be a member.
    body: Buffer.from(routeOptions.schema?.body === undefined ? '' : formatCanonicalJson(body)),
    hasSecret,
  })
}

/**
 * Answers 201 with the result of `create`, or with the kept answer of an earlier request.
 */
export function createOnce(
  writer: StoreWriter,
  once: OnceRequest,
  now: Date,
  create: () => Promise<object>,
): Promise<Answer> {
  return doOnce(writer, once, now, async () => ({ status: 201, headers: {}, body: await create() }))
}

/** Answers 200 with the result of `change`, for a POST that creates no resource. */
export function changeOnce(
  writer: StoreWriter,
  once: OnceRequest,
  now: Date,
  change: () => Promise<object>,
): Promise<Answer> {
  return doOnce(writer, once, now, async () => ({ status: 200, headers: {}, body: await change() }))
}

function doOnce(
  writer: StoreWriter,
  once: OnceRequest,
  now: Date,
  act: () => Promise<Answer>,
): Promise<Answer> {
  return answerOnce(writer, once, now, { validate: async () => undefined, act })
}
