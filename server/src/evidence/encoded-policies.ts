import type { Policy } from '@palisade/policy-core'
import { formatDetailedPolicy } from '../store/aggregates/policies/format-policy.ts'
import type { Work } from '../work/work-budget.ts'
import type { PolicyRecord } from '../store/records.ts'

/** Policies as JSON in UTF-8: the strings of objects would be copied to a worker one by one. */
export type EncodedPolicies = readonly Uint8Array<ArrayBuffer>[]

const UTF8 = new TextEncoder()

/** Serves other requests between two policies. */
export async function encodePolicies(
  policies: readonly PolicyRecord[],
  work: Pick<Work, 'turn'>,
): Promise<EncodedPolicies> {
  const encoded: Uint8Array<ArrayBuffer>[] = []
  for (const policy of policies) {
    await work.turn()
    encoded.push(encodePolicy(formatDetailedPolicy(policy)))
  }
  return encoded
}

export function encodePolicy(policy: Policy): Uint8Array<ArrayBuffer> {
  return UTF8.encode(JSON.stringify(policy))
}

export function decodePolicies(encoded: EncodedPolicies): readonly Policy[] {
  return encoded.map((bytes) => JSON.parse(new TextDecoder().decode(bytes)) as Policy)
}
