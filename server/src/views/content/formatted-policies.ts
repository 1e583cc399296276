import type { DefaultDecision, DistributionSettings, EvidenceSettings } from '@palisade/protocol'
import { listHeads } from '../../store/list-heads.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { OrganizationRecord, PolicyRecord } from '../../store/records.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { createLruCache } from '../../platform/lru-cache.ts'
import { byName } from './targets-text.ts'
import { createDocumentFormat, type FormattedPolicy } from './view-document.ts'

/**
 * Most bytes of formatted policies; an organization may have 40 MB by default, half of this at
 * most.
 */
const MAX_BYTES = 96 * 1024 * 1024
/** Policies may change while they are read; the remaining ones are read with the view. */
const MAX_ATTEMPTS = 3

/** The policies that a rollout began with. */
export interface ViewBase {
  /** Its id. */
  readonly rollout: string
  readonly revision: number
}

/** Settings of an organization for its machines. */
export interface MachineSettings {
  readonly distribution: DistributionSettings
  readonly evidence: EvidenceSettings
  /** Default decisions by the ids of teams that have chosen one. */
  readonly teamDefaults: ReadonlyMap<string, DefaultDecision>
}

/** The policies of an organization, or those that a rollout began with, as documents. */
export interface FormattedPolicies extends MachineSettings {
  /** The revision of the organization. */
  readonly revision: number
  /** Policies by ascending name of their documents. */
  readonly policies: readonly FormattedPolicy[]
  readonly bytes: number
}

export interface PolicyFormats {
  /**
   * Formats the policies that `read` will need. Each is read in one turn and formatted in another.
   */
  prepare(store: Pick<Store, 'read'>, org: string, base: ViewBase | null): Promise<void>
  /**
   * Formats the policies that are not cached. `organization` is as `reader` has it, and committed.
   */
  read(
    reader: StoreReader,
    organization: OrganizationRecord,
    base: ViewBase | null,
  ): Promise<FormattedPolicies>
  /** Reads in a transaction: the result is not cached, since it may be undone. */
  readUncommitted(
    reader: StoreReader,
    organization: OrganizationRecord,
    base: ViewBase | null,
  ): Promise<FormattedPolicies>
}

/** A policy by its revision; null for one of a rollout's that has changed since. */
interface Wanted {
  readonly id: string
  readonly revision: number | null
}

type KnownPolicies = Map<string, FormattedPolicy>

/**
 * Formats each policy once for all views of its organization. A policy is known by its id and the
 * revision at which it changed last, so a change costs as much as the policies that it is about.
 */
export function createPolicyFormats(): PolicyFormats {
  const cache = createLruCache<FormattedPolicies>(MAX_BYTES, ({ bytes }) => bytes)
  const preparing = new Map<string, Promise<void>>()
  const formatDocument = createDocumentFormat()

  function findKnown(org: string): KnownPolicies {
    const policies = cache.find(org)?.policies ?? []
    return new Map(policies.map((policy) => [policy.id, policy]))
  }

  async function readAll(
    reader: StoreReader,
    { name: org, revision }: OrganizationRecord,
    base: ViewBase | null,
  ): Promise<FormattedPolicies> {
    const known = findKnown(org)
    const policies: FormattedPolicy[] = []
    for (const wanted of await listWanted(reader, org, base)) {
      const policy = pick(known, wanted) ?? (await readOne(reader, org, base, wanted))
      if (policy === null) throw new TypeError('a policy is not in its own snapshot')
      policies.push('document' in policy ? policy : formatDocument(policy))
    }
    return collect(policies, { revision, ...(await readSettings(reader, org)) })
  }

  /** False when a policy has changed meanwhile. `known` keeps the policies that were formatted. */
  async function formatInTurns(
    store: Pick<Store, 'read'>,
    { org, base, wanted }: { org: string; base: ViewBase | null; wanted: readonly Wanted[] },
    known: KnownPolicies,
  ): Promise<boolean> {
    for (const each of wanted) {
      if (pick(known, each) !== null) continue
      const policy = await store.read((reader) => readOne(reader, org, base, each))
      if (policy === null) return false
      await nextTurn()
      known.set(each.id, formatDocument(policy))
      await nextTurn()
    }
    return true
  }

  async function prepareNew(
    store: Pick<Store, 'read'>,
    org: string,
    base: ViewBase | null,
  ): Promise<void> {
    const key = keyOf(org, base)
    const known = findKnown(org)
    for (let made = 0; made < MAX_ATTEMPTS; made += 1) {
      const seen = await store.read(async (reader) => {
        const revision = (await reader.organizations.find(org))?.revision
        const kept = cache.find(key)
        if (revision === undefined || kept?.revision === revision) return null
        if (base !== null && (kept !== null || !(await isOpen(reader, org, base)))) return null
        const settings = await readSettings(reader, org)
        return { revision, ...settings, wanted: await listWanted(reader, org, base) }
      })
      if (seen === null) return
      const { wanted, ...state } = seen
      if (!(await formatInTurns(store, { org, base, wanted }, known))) continue
      const policies = wanted.flatMap(({ id }) => known.get(id) ?? [])
      return cache.keep(key, collect(policies, state))
    }
  }

  return {
    async prepare(store, org, base) {
      const key = keyOf(org, base)
      const begun = preparing.get(key) ?? prepareNew(store, org, base)
      preparing.set(key, begun)
      try {
        await begun
      } finally {
        if (preparing.get(key) === begun) preparing.delete(key)
      }
    },
    async read(reader, organization, base) {
      const { name, revision } = organization
      const key = keyOf(name, base)
      const known = cache.find(key)
      if (known?.revision === revision) return known
      // The policies of a rollout's base are fixed; the organization's settings may change.
      const formatted =
        known !== null && base !== null
          ? { ...known, revision, ...(await readSettings(reader, name)) }
          : await readAll(reader, organization, base)
      cache.keep(key, formatted)
      return formatted
    },
    readUncommitted: readAll,
  }
}

export async function isOpen(reader: StoreReader, org: string, base: ViewBase): Promise<boolean> {
  return (await reader.rollouts.findOpen(org))?.id === base.rollout
}

async function readSettings(
  { organizations, teams }: StoreReader,
  org: string,
): Promise<MachineSettings> {
  return {
    distribution: await organizations.distribution(org),
    evidence: await organizations.evidence(org),
    teamDefaults: await teams.defaults(org),
  }
}

function keyOf(org: string, base: ViewBase | null): string {
  return base === null ? org : `${org}/${base.rollout}`
}

/** A policy of a rollout that has not changed since is that of the organization. */
async function listWanted(
  reader: StoreReader,
  org: string,
  base: ViewBase | null,
): Promise<Wanted[]> {
  const heads = await listHeads(reader, org)
  if (base === null) return heads
  const lasting = new Map(
    heads.flatMap(({ id, revision }) => (revision <= base.revision ? [[id, revision]] : [])),
  )
  const ids = await reader.rollouts.baseIds(org, base.rollout)
  return ids.map((id) => ({ id, revision: lasting.get(id) ?? null }))
}

function pick(known: KnownPolicies, { id, revision }: Wanted): FormattedPolicy | null {
  const policy = known.get(id)
  return policy !== undefined && policy.document.custom.revision === revision ? policy : null
}

async function readOne(
  reader: StoreReader,
  org: string,
  base: ViewBase | null,
  { id, revision }: Wanted,
): Promise<PolicyRecord | null> {
  if (revision === null) return base && reader.rollouts.basePolicy(org, base.rollout, id)
  const policy = await reader.policies.find(org, id)
  return policy?.revision === revision ? policy : null
}

function collect(
  policies: readonly FormattedPolicy[],
  state: Pick<FormattedPolicies, 'revision' | keyof MachineSettings>,
): FormattedPolicies {
  return {
    ...state,
    policies: policies.toSorted((a, b) => byName(a.document, b.document)),
    bytes: policies.reduce((sum, { document }) => sum + document.body.byteLength, 0),
  }
}
