import {
  ACCESS_SECONDS,
  MAX_DEVICE_GRANTS,
  MAX_PATH_DEPTH,
  type ChangedAccessSettings,
  type ChangedEvidenceSettings,
  type DefaultDecision,
  type UpdateOrganizationRequest,
  type UploadMode,
} from '@palisade/protocol'
import { parseDuration } from '../../options/duration.ts'
import { usageError } from '../../runtime/cli-error.ts'

const HOUR = 3_600
const DAY = 24 * HOUR

type Switch = 'on' | 'off'

interface EvidenceOptions {
  readonly upload?: UploadMode
  readonly samplePercent?: string
  readonly pathDepth?: string
  readonly uploadPrograms?: Switch
  readonly uploadUsers?: Switch
}

interface AccessOptions {
  readonly accessLongest?: string
  readonly accessMostOpen?: string
  readonly accessAnswerWithin?: string
}

/** The options of `palisade org set`, as written. */
export interface SettingOptions extends EvidenceOptions, AccessOptions {
  readonly resolveUnlistedNames?: Switch
  readonly default?: DefaultDecision | 'none'
  /** False for `--no-support-message`. */
  readonly supportMessage?: string | false
  readonly freshFor?: string
  readonly expiresAfter?: string
  /** False for `--no-offline-allow`. */
  readonly offlineAllow?: readonly string[] | false
}

/** Reads the settings to change. Throws exit 2 for none, or for a value out of range. */
export function readSettings(options: SettingOptions): UpdateOrganizationRequest {
  const { resolveUnlistedNames, default: chosen, supportMessage } = options
  const distribution = readDistribution(options)
  const evidence = readEvidence(options)
  const access = readAccess(options)
  const changed = {
    ...(resolveUnlistedNames === undefined
      ? {}
      : { resolve_unlisted_names: resolveUnlistedNames === 'on' }),
    ...(chosen === undefined ? {} : { default: chosen === 'none' ? null : chosen }),
    ...(supportMessage === undefined ? {} : { support_message: supportMessage || null }),
    ...(Object.keys(distribution).length === 0 ? {} : { distribution }),
    ...(Object.keys(evidence).length === 0 ? {} : { evidence }),
    ...(Object.keys(access).length === 0 ? {} : { access }),
  }
  if (Object.keys(changed).length === 0)
    throw usageError('write a setting to change, such as `--fresh-for 12h`')
  return changed
}

function readDistribution({ freshFor, expiresAfter, offlineAllow }: SettingOptions) {
  return {
    ...(freshFor === undefined
      ? {}
      : {
          fresh_for_seconds: parseDuration(freshFor, '--fresh-for', {
            least: HOUR,
            most: 30 * DAY,
          }),
        }),
    ...(expiresAfter === undefined
      ? {}
      : {
          expires_after_seconds: parseDuration(expiresAfter, '--expires-after', {
            least: HOUR,
            most: 90 * DAY,
          }),
        }),
    ...(offlineAllow === undefined ? {} : { offline_allow: [...(offlineAllow || [])] }),
  }
}

function readEvidence(options: EvidenceOptions): ChangedEvidenceSettings {
  const { upload, samplePercent, pathDepth, uploadPrograms, uploadUsers } = options
  return {
    ...(upload === undefined ? {} : { upload }),
    ...(samplePercent === undefined
      ? {}
      : { sample_percent: readCount(samplePercent, '--sample-percent', 1, 100) }),
    ...(pathDepth === undefined
      ? {}
      : { path_depth: readCount(pathDepth, '--path-depth', 0, MAX_PATH_DEPTH) }),
    ...(uploadPrograms === undefined ? {} : { programs: uploadPrograms === 'on' }),
    ...(uploadUsers === undefined ? {} : { users: uploadUsers === 'on' }),
  }
}

function readAccess(options: AccessOptions): ChangedAccessSettings {
  const { accessLongest, accessMostOpen, accessAnswerWithin } = options
  const limits = { least: ACCESS_SECONDS.min, most: ACCESS_SECONDS.max }
  return {
    ...(accessLongest === undefined
      ? {}
      : { longest_seconds: parseDuration(accessLongest, '--access-longest', limits) }),
    ...(accessMostOpen === undefined
      ? {}
      : { most_open: readCount(accessMostOpen, '--access-most-open', 0, MAX_DEVICE_GRANTS) }),
    ...(accessAnswerWithin === undefined
      ? {}
      : {
          answer_within_seconds: parseDuration(
            accessAnswerWithin,
            '--access-answer-within',
            limits,
          ),
        }),
  }
}

function readCount(text: string, option: string, least: number, most: number): number {
  const value = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw usageError(`\`${option} ${text}\` must be a whole number from ${least} to ${most}`)
}
