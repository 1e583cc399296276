import type {
  EventHead,
  MembershipRecord,
  OrganizationRecord,
  PolicyRecord,
  RuleRecord,
} from '../records.ts'
import { createRowCache, type RowCache } from './row-cache.ts'

const MAX_ROWS = 10_000
/** Row ids that are kept for views; a view may list 300. */
const MAX_ROW_IDS = 1_000_000
/** A policy may have 400 KB, and sizes differ a thousandfold, so the bound is in bytes. */
const MAX_POLICY_BYTES = 32 * 1024 * 1024
/** Estimated bytes of a policy, a rule and a resource beside their texts, rounded up. */
const [POLICY_BYTES, RULE_BYTES, RESOURCE_BYTES] = [512, 256, 32]

/** With the bytes that all events of the organization take. */
export interface StoredHead extends EventHead {
  readonly bytes: number
}

/** Null where the organization has no open rollout. */
export interface OpenRollout {
  readonly rollout: { readonly id: string; readonly base_revision: number } | null
}

/**
 * Rows that nearly every write reads. They are true as long as no other process has committed,
 * which the driver must find out within each transaction, when all other writers wait. Without
 * them, adding a rule to a policy reads all its rules twice.
 */
export interface WriteCache {
  readonly organizations: RowCache<OrganizationRecord>
  readonly memberships: RowCache<MembershipRecord>
  readonly policies: RowCache<PolicyRecord>
  readonly eventHeads: RowCache<StoredHead>
  /** Whether each organization has a rollout that has not ended. */
  readonly openRollouts: RowCache<OpenRollout>
  /** Row ids of the documents that the newest targets file of a view lists, in their order. */
  readonly listings: RowCache<readonly number[]>
  /** Begins work that may be undone by itself. */
  mark(): void
  /** The work since the mark was undone. */
  undo(): void
  /** Others may have written. */
  forget(): void
}

export function createWriteCache(maxPolicyBytes = MAX_POLICY_BYTES): WriteCache {
  const rows = {
    organizations: createRowCache<OrganizationRecord>(MAX_ROWS),
    memberships: createRowCache<MembershipRecord>(MAX_ROWS),
    policies: createRowCache<PolicyRecord>(maxPolicyBytes, weighPolicy),
    eventHeads: createRowCache<StoredHead>(MAX_ROWS),
    openRollouts: createRowCache<OpenRollout>(MAX_ROWS),
    listings: createRowCache<readonly number[]>(MAX_ROW_IDS, ({ length }) => length + 1),
  }
  const each = Object.values(rows)
  return {
    ...rows,
    mark() {
      for (const kept of each) kept.mark()
    },
    undo() {
      for (const kept of each) kept.undo()
    },
    forget() {
      for (const kept of each) kept.forget()
    },
  }
}

/** A key of two texts; neither a name nor an id holds a line feed. */
export function keyOf(org: string, id: string): string {
  return `${org}\n${id}`
}

function weighPolicy({ rules }: PolicyRecord): number {
  let bytes = POLICY_BYTES
  for (const rule of rules) bytes += weighRule(rule)
  return bytes
}

function weighRule({ name, resources }: RuleRecord): number {
  let bytes = RULE_BYTES + name.length
  for (const resource of resources) bytes += RESOURCE_BYTES + resource.length
  return bytes
}
