import { effectiveDefault, effectivePolicies } from '@palisade/policy-core'
import { MAX_POLICIES_OF_VIEW, type ViewSettings } from '@palisade/protocol'
import { formatCanonicalJson } from '../../history/canonical-json.ts'
import { limitExceeded, notFound } from '../../platform/api-error.ts'
import type { OrganizationRecord } from '../../store/records.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import {
  createPolicyFormats,
  isOpen,
  type FormattedPolicies,
  type ViewBase,
} from './formatted-policies.ts'
import { sha256 } from '../keys/metadata.ts'
import { joinEntries } from './targets-text.ts'
import type { ViewDocument } from './view-document.ts'

/** Not a setting of the organization: every machine polls at this interval. */
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

/** The inputs that decide the content of a view. */
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
  /** Does the work of `read` in turns, for every view of the organization with that base. */
  prepare(store: Pick<Store, 'read'>, org: string, base: ViewBase | null): Promise<void>
  /**
   * The policies that machines of a user in exactly `teams` enforce: those for everybody and those
   * of these teams. The content does not reveal that other policies exist. `organization` is as
   * `reader` has it. Throws ApiError 403 for more policies than a view may have, 404 for those of a
   * rollout that has ended.
   */
  read: ReadContent
  /**
   * Reads in a transaction. The result is not cached: the transaction may be undone, and its
   * revision then belongs to other content.
   */
  readUncommitted: ReadContent
}

/** Puts the contents of views together; policies are formatted once for all of them. */
export function createViewContents(): ViewContents {
  const formats = createPolicyFormats()

  return {
    prepare: (store, org, base) => formats.prepare(store, org, base),
    async read(reader, organization, source) {
      await requireOpen(reader, organization.name, source.base)
      const formatted = await formats.read(reader, organization, source.base)
      return select(formatted, organization, source)
    },
    async readUncommitted(reader, organization, source) {
      await requireOpen(reader, organization.name, source.base)
      const formatted = await formats.readUncommitted(reader, organization, source.base)
      return select(formatted, organization, source)
    },
  }
}

/**
 * A request for the policies of an ended rollout must fail: an empty list would drop all policies.
 */
async function requireOpen(reader: StoreReader, org: string, base: ViewBase | null): Promise<void> {
  if (base !== null && !(await isOpen(reader, org, base))) throw notFound('view not found')
}

function select(
  { policies, distribution, evidence, teamDefaults }: FormattedPolicies,
  {
    revision: current,
    resolve_unlisted_names,
    default: chosen,
    support_message,
  }: OrganizationRecord,
  { teams, base }: ViewSource,
): ViewContent {
  const effective = effectivePolicies(policies, teams)
  const documents = effective.map(({ document }) => document)
  if (documents.length > MAX_POLICIES_OF_VIEW)
    throw limitExceeded(`a machine may have at most ${MAX_POLICIES_OF_VIEW} policies`)
  const { offline_allow, ...times } = distribution
  const standard = effectiveDefault([chosen, ...teams.map((team) => teamDefaults.get(team))])
  const lasting = {
    ...times,
    poll_seconds: POLL_SECONDS,
    resolve_unlisted_names,
    ...(offline_allow.length === 0 ? {} : { offline_allow }),
    ...(standard === 'enforce' ? {} : { default: standard }),
    ...(support_message === undefined ? {} : { support_message }),
    // An organization without uploads has the same view as on a server without the setting.
    ...(evidence.upload === 'off' ? {} : { evidence }),
  }
  const listing = joinEntries(documents.map(({ entry }) => entry))
  const hash = sha256(`${formatCanonicalJson(lasting)}\n${listing}`)
  const revision = base?.revision ?? current
  return { documents, listing, settings: { ...lasting, revision }, hash }
}
