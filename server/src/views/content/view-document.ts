import { makeSelfTest } from '@palisade/policy-core'
import {
  formatSelfTest,
  POLICY_DOCUMENT_SCHEMA,
  type PolicyBody,
  type ViewPolicy,
} from '@palisade/protocol'
import { formatDetailedPolicy } from '../../store/aggregates/policies/format-policy.ts'
import type { DocumentRecord } from '../../store/distribution-records.ts'
import type { PolicyRecord } from '../../store/records.ts'
import { sha256 } from '../keys/metadata.ts'
import { createLruCache } from '../../platform/lru-cache.ts'
import { formatEntry, type Listed } from './targets-text.ts'

/**
 * Most characters of self-tests; most have about a thousand, so ten thousand policies are
 * remembered.
 */
const MAX_SELF_TESTS = 16 * 1024 * 1024
/** Estimated memory of one cached policy beside its text. */
const KEY_WEIGHT = 200

/**
 * A policy of the view. Its name is made of its content and its own id, and reveals no other
 * policy.
 */
export interface ViewDocument extends DocumentRecord, Listed {}

/** A policy, and the documents that machines get of it. */
export interface FormattedPolicy extends Pick<PolicyBody, 'id' | 'name' | 'scope'> {
  readonly document: ViewDocument
}

/**
 * Formats policies for machines, each with a self-test. Making one takes milliseconds, and a change
 * affects one policy among many, so results are cached by the policy's content, for all
 * organizations together.
 */
export function createDocumentFormat(): (policy: PolicyRecord) => FormattedPolicy {
  const selfTests = createLruCache<string>(MAX_SELF_TESTS, (text) => KEY_WEIGHT + text.length)

  function selfTestOf(policy: PolicyBody, hash: string): string {
    const known = selfTests.find(hash)
    if (known !== null) return known
    const vectors = makeSelfTest(policy)
    const lines = JSON.stringify(formatSelfTest(vectors))
    const text = vectors.length === 0 ? '' : `,"self_test":${lines}`
    selfTests.keep(hash, text)
    return text
  }

  return (record) => {
    const policy = formatDetailedPolicy(record)
    const { scope, mode = 'enforce', ...shown } = policy
    const { id, name } = policy
    const text = JSON.stringify(shown satisfies ViewPolicy)
    const body = Buffer.from(`${text.slice(0, -1)}${selfTestOf(policy, sha256(text))}}`)
    const hash = sha256(body)
    const document = {
      name: `policies/${id}.json`,
      path: `policies/${hash}.${id}.json`,
      sha256: hash,
      body,
      custom: { mode, revision: record.revision, schema: POLICY_DOCUMENT_SCHEMA },
    }
    return { id, name, scope, document: { ...document, entry: formatEntry(document) } }
  }
}
