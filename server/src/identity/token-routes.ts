import { tokenRequestSchema, tokenResponseSchema } from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { errorResponses } from '../http/errors/error-responses.ts'
import { createTokenExchange, type ExchangeDeps } from './exchange-secret.ts'
import type { SignInJournal } from './sign-in/sign-in-journal.ts'
import {
  describeSignIn,
  resultOf,
  type ObserveSignIn,
  type SignInResult,
} from './sign-in/sign-in-outcome.ts'

/** A stranger's body is held until all of it is there: of 1 MiB each, 300 held 310 MB. */
const MAX_BODY_BYTES = 64 * 1024

export interface TokenRouteDeps extends ExchangeDeps {
  readonly observeSignIn: ObserveSignIn
  readonly journal: Pick<SignInJournal, 'close'>
}

/** `POST /v2/auth/token`: a secret for a short-lived access token. */
export function tokenRoutes(deps: TokenRouteDeps): FastifyPluginAsyncZod {
  return async (app) => {
    const exchange = createTokenExchange(deps)
    app.addHook('onClose', async () => {
      await deps.tokenUse.flush()
      await deps.journal.close()
    })

    app.post(
      '/v2/auth/token',
      {
        bodyLimit: MAX_BODY_BYTES,
        schema: {
          operationId: 'createAccessToken',
          tags: ['tokens'],
          summary: 'Exchange a password, personal token or organization token',
          security: [],
          body: tokenRequestSchema,
          response: { 200: tokenResponseSchema, ...errorResponses([400, 401, 413, 415, 429]) },
        },
      },
      async (request) => {
        const { body, ip: address, id: requestId } = request
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
}
