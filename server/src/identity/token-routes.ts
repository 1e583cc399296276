import { keySetSchema, tokenRequestSchema, tokenResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { Authenticate } from './authenticate.ts'
import { createTokenExchange, type ExchangeDeps } from './exchange-secret.ts'
import { registerRoutes } from './routes/register-routes.ts'
import { defineRoute, type Route } from './routes/route.ts'
import type { SignInJournal } from './sign-in/sign-in-journal.ts'
import {
  describeSignIn,
  resultOf,
  type ObserveSignIn,
  type SignInResult,
} from './sign-in/sign-in-outcome.ts'
import type { Store } from '../store/store.ts'
import { isVerifying, publicKeyOf } from './tokens/ensure-signing-keys.ts'

/** Low, because bodies of strangers are buffered until they are complete. */
const MAX_BODY_BYTES = 64 * 1024

export interface TokenRouteDeps extends ExchangeDeps {
  readonly authenticate: Authenticate
  readonly observeSignIn: ObserveSignIn
  readonly journal: Pick<SignInJournal, 'close'>
}

/** `POST /v2/auth/token`, and the public keys of access tokens. */
export function tokenRoutes(deps: TokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    app.addHook('onClose', async () => {
      await deps.tokenUse.flush()
      await deps.journal.close()
    })
    registerRoutes(app, deps, [exchangeRoute(deps), keySetRoute(deps)])
  }
}

/** `POST /v2/auth/token`: exchanges a secret for a short-lived access token. */
function exchangeRoute(deps: TokenRouteDeps): Route {
  const exchange = createTokenExchange(deps)
  return defineRoute(
    {
      method: 'POST',
      path: '/v2/auth/token',
      operationId: 'createAccessToken',
      tags: ['tokens'],
      summary: 'Exchange a password, personal token or organization token',
      callers: 'anyone',
      query: null,
      body: tokenRequestSchema,
      bodyLimit: MAX_BODY_BYTES,
      answers: { 200: tokenResponseSchema },
      errors: [401, 429],
    },
    async ({ body, request }) => {
      const { ip: address, id: requestId } = request
      const name = body.username ?? body.identifier ?? ''
      const secret = body.password ?? body.secret ?? ''
      const credentials = { name, secret, address, requestId }
      const note = (result: SignInResult): void => {
        const record = describeSignIn(credentials, result)
        request.signIn = record
        deps.observeSignIn(record.kind, result)
      }
      try {
        const { answer, actor } = await exchange(credentials)
        request.actor = actor
        note('ok')
        return answer
      } catch (error) {
        note(resultOf(error))
        throw error
      }
    },
  )
}

/** Verifiers refetch on an unknown key, so the cache delays only the end of a retired key. */
const CACHE_CONTROL = 'public, max-age=300'

/** `GET /.well-known/jwks.json` (RFC 7517): for services that verify our access tokens. */
function keySetRoute(deps: {
  readonly store: Pick<Store, 'read'>
  readonly now: () => Date
}): Route {
  return defineRoute(
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getKeySet',
      tags: ['tokens'],
      summary: 'Get the public keys that verify access tokens',
      callers: 'anyone',
      answers: { 200: keySetSchema },
    },
    async ({ send }) => {
      const records = await deps.store.read((reader) => reader.signingKeys.list('access_token'))
      const verifying = records.filter((record) => isVerifying(record, deps.now()))
      const keys = verifying.map((record) => ({ ...publicKeyOf(record), alg: 'EdDSA', use: 'sig' }))
      return send({ status: 200, headers: { 'cache-control': CACHE_CONTROL }, body: { keys } })
    },
  )
}
