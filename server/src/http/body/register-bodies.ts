import type { FastifyInstance } from 'fastify'
import { createLargeBodies, LARGE_BYTES, type LargeBody, type Pace } from './large-bodies.ts'
import { collectBody, emptyBody } from './raw-body.ts'
import { mayBeLarge } from './unread-body.ts'

/** Reads request bodies as `RawBody`. Large ones take turns, at `pace` while others wait. */
export function registerBodies(app: FastifyInstance, pace: Pace | undefined): void {
  app.decorateRequest('contentType', undefined)
  app.decorateRequest('admitted', null)
  app.decorateRequest('largeBody', null)
  const largeBodies = createLargeBodies(pace)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', collectBody)
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw
    request.contentType = headers['content-type']
    // Hides the header from Fastify, which refuses a malformed media type before any look-up.
    // `delete` would make all later accesses to the headers slow.
    if (request.contentType !== undefined) headers['content-type'] = undefined
    done()
  })
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { actor, routeOptions, params } = request
    if (routeOptions.bodyLimit <= LARGE_BYTES || actor === null || !mayBeLarge(request.raw)) {
      done(null, payload)
      return
    }
    const { org = '' } = params as { readonly org?: string }
    const read = (body: LargeBody): void => {
      request.largeBody = body
      done(null, payload)
    }
    largeBodies.takeTurn({ org, caller: actor }, reply.raw).then(read, done)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.method !== 'GET' && request.method !== 'HEAD')
      request.body = emptyBody(request)
    done()
  })
  // The answer is complete: a client that reads it slowly must not hold the body and its turn.
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (request.largeBody !== null) {
      request.body = null
      request.largeBody.end()
    }
    done(null, payload)
  })
}
