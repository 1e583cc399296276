import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { distributionKey } from './audited-records.ts'

type Work = (writer: StoreWriter) => Promise<unknown>
type ExpectedEvent = [kind: string, subject: object, before: unknown, after: unknown]

/** Events of replacing and exporting the root key `dk0`. */
export function trustWrites(): Record<'replaceKey' | 'forgetPrivateKey', [Work, ExpectedEvent[]]> {
  const { kid, created_at } = distributionKey('dk0')
  const shown = { kid, role: 'root', created_at, on_server: true }
  return {
    replaceKey: [
      (writer) => writer.trust.replaceKey(kid, distributionKey('dk9')),
      [['distribution_key.replaced', { id: 'dk9', name: 'root' }, shown, { ...shown, kid: 'dk9' }]],
    ],
    forgetPrivateKey: [
      (writer) => writer.trust.forgetPrivateKey('acme', kid),
      [
        [
          'distribution_key.moved_off',
          { id: kid, name: 'root' },
          shown,
          { ...shown, on_server: false },
        ],
      ],
    ],
  }
}
