import { z } from 'zod'

/**
 * How much of its decision records a machine uploads.
 *
 * - `off`: nothing.
 * - `denials`: records of denials, and of requests that the default `observe` or a shadow policy
 *   would deny if it were enforced.
 * - `sampled`: these, and `sample_percent` of all others.
 * - `full`: all records.
 */
export const UPLOAD_MODES = ['off', 'denials', 'sampled', 'full'] as const
export type UploadMode = (typeof UPLOAD_MODES)[number]

/** Segments of a path that are uploaded at most; more than any path has. */
export const MAX_PATH_DEPTH = 255

/** Which evidence the machines of an organization upload, inside the signed settings. */
export const evidenceSettingsSchema = z
  .strictObject({
    upload: z.enum(UPLOAD_MODES),
    sample_percent: z
      .int()
      .min(1, 'must be at least 1')
      .max(100, 'must be at most 100')
      .meta({ description: 'Part of the allowed requests that `sampled` uploads' }),
    path_depth: z
      .int()
      .nonnegative('must not be negative')
      .max(MAX_PATH_DEPTH, `must be at most ${MAX_PATH_DEPTH}`)
      .meta({ description: 'Leading segments of a path that are uploaded; 0 for no path at all' }),
    programs: z.boolean().meta({ description: 'Whether the executable is uploaded' }),
    users: z
      .boolean()
      .meta({ description: 'Whether the user of the operating system is uploaded' }),
  })
  .meta({ id: 'EvidenceSettings' })
export type EvidenceSettings = z.infer<typeof evidenceSettingsSchema>

const { upload, sample_percent, path_depth, programs, users } = evidenceSettingsSchema.shape

/** Absent members stay unchanged. */
export const changedEvidenceSettingsSchema = z
  .strictObject({
    upload: upload.exactOptional(),
    sample_percent: sample_percent.exactOptional(),
    path_depth: path_depth.exactOptional(),
    programs: programs.exactOptional(),
    users: users.exactOptional(),
  })
  .refine((changed) => Object.keys(changed).length > 0, 'must have a member to change')
export type ChangedEvidenceSettings = z.infer<typeof changedEvidenceSettingsSchema>

/** Settings of an organization without choices of its own: the most private ones. */
export const DEFAULT_EVIDENCE_SETTINGS: EvidenceSettings = {
  upload: 'off',
  sample_percent: 10,
  path_depth: 0,
  programs: false,
  users: false,
}
