import type { FastifyInstance } from 'fastify'
import { limitLargeBodies } from './large-bodies.ts'
import { collectBody, emptyBody } from './raw-body.ts'

/** Reads request bodies as `RawBody`. */
export function registerBodies(app: FastifyInstance): void {
  app.decorateRequest('contentType', undefined)
  app.decorateRequest('admitted', null)
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
  limitLargeBodies(app)
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.body === undefined && request.method !== 'GET' && request.method !== 'HEAD')
      request.body = emptyBody(request)
    done()
  })
}
