import type { TrustReader, TrustWriter } from '../../store/contract/distribution.ts'
import type { DistributionKeyRecord } from '../../store/distribution-records.ts'
import type { RecordChange, Writes } from '../change.ts'

/**
 * First keys, and roots, have no event: they follow from other facts in the history, such as the
 * first machine or a key that was replaced, or from the passing of half a year.
 */
export function auditTrust(
  trust: TrustWriter,
  record: RecordChange,
): Omit<Writes<TrustWriter, TrustReader>, 'insertKey' | 'insertRoot'> {
  return {
    async replaceKey(kid, next) {
      const before = await findKey(trust, next.org, kid)
      await trust.replaceKey(kid, next)
      await record({
        ...ofKey(next),
        kind: 'distribution_key.replaced',
        before: before === undefined ? null : showKey(before),
        after: showKey(next),
      })
    },
    async forgetPrivateKey(org, kid) {
      const before = await findKey(trust, org, kid)
      await trust.forgetPrivateKey(org, kid)
      const after = await findKey(trust, org, kid)
      if (before === undefined || after === undefined) return
      const shown = { before: showKey(before), after: showKey(after) }
      await record({ ...ofKey(after), kind: 'distribution_key.moved_off', ...shown })
    },
  }
}

async function findKey(
  trust: TrustReader,
  org: string,
  kid: string,
): Promise<DistributionKeyRecord | undefined> {
  return (await trust.keys(org)).find((key) => key.kid === kid)
}

function ofKey({ kid, org, role }: DistributionKeyRecord) {
  return { place: { org }, subject: { id: kid, name: role } }
}

function showKey({ kid, role, created_at, private_jwk }: DistributionKeyRecord) {
  return { kid, role, created_at, on_server: private_jwk.d !== undefined }
}
