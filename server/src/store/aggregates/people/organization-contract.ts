import type {
  AccessSettings,
  DefaultDecision,
  DistributionSettings,
  EvidenceSettings,
} from '@palisade/protocol'
import type { OrganizationRecord } from '../../records.ts'

export interface OrganizationReader {
  find(name: string): Promise<OrganizationRecord | null>
  count(): Promise<number>
  /** Lists the names of all organizations, ascending. */
  names(): Promise<string[]>
  /** Reads the revisions of all organizations, by name. */
  revisions(): Promise<Map<string, number>>
  /**
   * Settings that machines receive beside policies; a setting that is not chosen has its default.
   */
  distribution(name: string): Promise<DistributionSettings>
  /** Which records machines upload; a setting that is not chosen has its default. */
  evidence(name: string): Promise<EvidenceSettings>
  /** Limits on access requests; a setting that is not chosen has its default. */
  access(name: string): Promise<AccessSettings>
}

export interface OrganizationWriter extends OrganizationReader {
  insert(organization: Omit<OrganizationRecord, 'revision'>): Promise<OrganizationRecord>
  updateSettings(name: string, settings: { resolve_unlisted_names: boolean }): Promise<void>
  /** Null: the organization has no say. */
  updateDefault(name: string, chosen: DefaultDecision | null): Promise<void>
  /** Null: no text. */
  updateSupportMessage(name: string, message: string | null): Promise<void>
  /** Throws `ERR_STORE_NOT_FOUND`. */
  updateDistribution(name: string, settings: DistributionSettings): Promise<void>
  /** Throws `ERR_STORE_NOT_FOUND`. */
  updateEvidence(name: string, settings: EvidenceSettings): Promise<void>
  /** Raises no revision. */
  updateAccess(name: string, settings: AccessSettings): Promise<void>
  updateEntitled(name: string, entitled: boolean): Promise<void>
  /** Goes on at `revision`, past those that a lost database may have handed out. */
  raiseRevision(name: string, revision: number): Promise<void>
}
