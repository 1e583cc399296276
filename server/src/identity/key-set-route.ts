import { keySetSchema } from '@palisade/protocol'
import type { Store } from '../store/store.ts'
import { defineRoute, type Route } from './routes/route.ts'
import { isVerifying, publicKeyOf } from './tokens/signing-keys.ts'

/** Verifiers refetch on an unknown key, so the cache delays only the end of a retired key. */
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
