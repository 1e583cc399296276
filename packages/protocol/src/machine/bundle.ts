import { z } from 'zod'

/** `format` of a bundle file. Other values belong to other versions. */
export const BUNDLE_FORMAT = 'palisade-bundle-1'

/** Longest bundle file, in bytes: the largest view that agents accept, plus quoting. */
export const MAX_BUNDLE_BYTES = 96 * 1024 * 1024

/** Path of a file below its view. */
export const BUNDLE_FILE_NAME =
  /^(?:metadata\/(?:timestamp|[1-9]\d{0,14}\.(?:root|snapshot|targets))|targets\/policies\/[0-9a-f]{64}\.[a-z0-9_]{1,64})\.json$/

/**
 * All texts that one machine would fetch now, in one file, for a machine that cannot reach the
 * server. The file itself is not trusted: each text is signed, or listed by its hash in a signed
 * text, and is verified like a fetched one. Names are compared, never used as paths.
 */
export const bundleSchema = z
  .strictObject({
    format: z.literal(BUNDLE_FORMAT),
    /** The text of `GET /api/v1/device/view`. */
    assignment: z.string(),
    /**
     * The texts of the view it names, by their paths below that view: every root, the timestamp,
     * the snapshot, the targets file and all policies.
     */
    files: z.record(z.string().regex(BUNDLE_FILE_NAME), z.string()),
  })
  .meta({ id: 'Bundle' })
export type Bundle = z.infer<typeof bundleSchema>
