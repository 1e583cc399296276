import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { tooManyLarge } from '../../work/answer-turns.ts'
import { mayBeLarge } from './unread-body.ts'

/** Routes with a higher `bodyLimit` accept large bodies. */
const LARGE_BYTES = 1024 * 1024
/** Large bodies in memory of one organization, and of one of its callers; more are refused. */
const MAX_OF = { organization: 16, caller: 4 } as const

/**
 * Bounds the memory for bodies of some megabytes: before one is read, its caller and organization
 * must have a slot left, which it keeps until its answer is sent.
 */
export function limitLargeBodies(app: FastifyInstance): void {
  const counts = new Map<string, number>()
  const count = (key: string): number => counts.get(key) ?? 0

  function enter(organization: string, caller: string, { raw }: FastifyReply): void {
    if (count(caller) >= MAX_OF.caller || count(organization) >= MAX_OF.organization)
      throw tooManyLarge()
    if (raw.closed) return
    for (const key of [organization, caller]) counts.set(key, count(key) + 1)
    raw.once('close', () => {
      for (const key of [organization, caller])
        if (count(key) > 1) counts.set(key, count(key) - 1)
        else counts.delete(key)
    })
  }

  app.addHook('preParsing', (request, reply, payload, done) => {
    if (isLarge(request)) {
      const { org = '' } = request.params as { readonly org?: string }
      const caller = JSON.stringify([org, request.actor])
      enter(org, caller, reply)
    }
    done(null, payload)
  })
}

function isLarge({ actor, raw, routeOptions }: FastifyRequest): boolean {
  return routeOptions.bodyLimit > LARGE_BYTES && actor !== null && mayBeLarge(raw)
}
