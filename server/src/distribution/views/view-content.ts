import { effectivePolicies } from '@palisade/policy-core'
import {
  MAX_POLICIES_OF_VIEW,
  type DistributionSettings,
  type ViewSettings,
} from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { limitExceeded, notFound } from '../../http/api-error.ts'
import type { OrganizationRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { sha256 } from './metadata.ts'
import { createRecent } from '../recent.ts'
import { byName, joinEntries } from './targets-text.ts'
import { createDocumentFormat, type FormattedPolicy, type ViewDocument } from './view-document.ts'

/** Of formatted policies; an organization may have 40 MB by default, half of this at most. */
const MAX_BYTES = 96 * 1024 * 1024

/** What is not the organization's to choose: machines poll by a timetable of their own. */
const POLL_SECONDS = 5 * 60

/** Everything that a view says, whenever it says it. */
export interface ViewContent {
  readonly documents: readonly ViewDocument[]
  /** `targets` of the targets file, in canonical JSON. */
  readonly listing: string
  readonly settings: ViewSettings
  /** Equal exactly when documents and settings are, apart from the revision they are read at. */
  readonly hash: string
}

/** The policies that a rollout began with. */
export interface ViewBase {
  /** Its id. */
  readonly rollout: string
  readonly revision: number
}

/** What of a view decides what it says. */
export interface ViewSource {
  readonly teams: readonly string[]
  readonly base: ViewBase | null
}

export type ReadContent = (
  reader: StoreReader,
  organization: OrganizationRecord,
  source: ViewSource,
) => Promise<ViewContent>

export interface ViewContents {
  /**
   * What machines of somebody in exactly `teams` enforce: the policies for everybody and those of
   * these teams, and nothing by which another policy could be told to exist. `organization` is as
   * `reader` has it. Throws ApiError 403 for more policies than a view may have, 404 for those of a
   * rollout that has ended.
   */
  read: ReadContent
  /**
   * The same for the reader of a transaction. Nothing is remembered: what it sees may be undone
   * together with it, and its revision be given to something else.
   */
  readUncommitted: ReadContent
}

/** Formats the policies of an organization once for all of its views. */
export function createViewContents(): ViewContents {
  const recent = createRecent<Formatted>(MAX_BYTES, ({ bytes }) => bytes)
  const formatDocument = createDocumentFormat()

  async function formatAll(
    reader: StoreReader,
    { name: org, revision }: OrganizationRecord,
    base: ViewBase | null,
  ): Promise<Formatted> {
    const records =
      base === null
        ? await reader.policies.listWithRules(org)
        : await reader.rollouts.base(org, base.rollout)
    const listed = records.map(formatDocument)
    const policies = listed.toSorted((a, b) => byName(a.document, b.document))
    const bytes = policies.reduce((sum, { document }) => sum + document.body.byteLength, 0)
    return { revision, policies, bytes, distribution: await reader.organizations.distribution(org) }
  }

  async function findFormatted(
    reader: StoreReader,
    organization: OrganizationRecord,
    base: ViewBase | null,
  ): Promise<Formatted> {
    const { name, revision } = organization
    if (base !== null) await requireOpen(reader, name, base)
    const key = base === null ? name : `${name}/${base.rollout}`
    const known = recent.find(key)
    if (known?.revision === revision) return known
    // What a rollout began with stays; what the organization has chosen for its machines need not.
    const formatted =
      known !== null && base !== null
        ? { ...known, revision, distribution: await reader.organizations.distribution(name) }
        : await formatAll(reader, organization, base)
    recent.keep(key, formatted)
    return formatted
  }

  return {
    async read(reader, organization, source) {
      return select(await findFormatted(reader, organization, source.base), organization, source)
    },
    async readUncommitted(reader, organization, source) {
      if (source.base !== null) await requireOpen(reader, organization.name, source.base)
      const formatted = await formatAll(reader, organization, source.base)
      return select(formatted, organization, source)
    },
  }
}

/** Who asks for the policies of a rollout that has ended must not be told that there are none. */
async function requireOpen(reader: StoreReader, org: string, base: ViewBase): Promise<void> {
  const open = await reader.rollouts.findOpen(org)
  if (open?.id !== base.rollout) throw notFound('view not found')
}

function select(
  { policies, distribution }: Formatted,
  { revision: current, resolve_unlisted_names }: OrganizationRecord,
  { teams, base }: ViewSource,
): ViewContent {
  const effective = effectivePolicies(policies, teams)
  const documents = effective.map(({ document }) => document)
  if (documents.length > MAX_POLICIES_OF_VIEW)
    throw limitExceeded(`a machine may have at most ${MAX_POLICIES_OF_VIEW} policies`)
  const { offline_allow, ...times } = distribution
  const lasting = {
    ...times,
    poll_seconds: POLL_SECONDS,
    resolve_unlisted_names,
    ...(offline_allow.length === 0 ? {} : { offline_allow }),
  }
  const listing = joinEntries(documents.map(({ entry }) => entry))
  const hash = sha256(`${formatCanonicalJson(lasting)}\n${listing}`)
  const revision = base?.revision ?? current
  return { documents, listing, settings: { ...lasting, revision }, hash }
}

interface Formatted {
  readonly revision: number
  readonly policies: readonly FormattedPolicy[]
  readonly bytes: number
  readonly distribution: DistributionSettings
}
