import { keySetSchema } from '@palisade/protocol'
import type { Store } from '../store/store.ts'
import { defineRoute, type Route } from './routes/route.ts'
import { isVerifying, publicKeyOf } from './tokens/signing-keys.ts'

/** Others ask again for a key that they do not know, so only a retired one lives on this long. */
const CACHE_CONTROL = 'public, max-age=300'

/** `GET /.well-known/jwks.json` (RFC 7517): for services that verify our access tokens. */
export function keySetRoute(deps: {
  readonly store: Pick<Store, 'read'>
  readonly now: () => Date
}): Route {
  return defineRoute(
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      operationId: 'getKeySet',
      tags: ['tokens'],
      summary: 'The public keys of every access token that may still be good',
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
