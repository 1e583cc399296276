import { z } from 'zod'
import { viewIdSchema } from './view.ts'

/** A machine asks here for all that it lacks, in one answer. */
export const UPDATE_PATH = '/api/v1/device/update'

const version = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a whole number from 1 of at most 15 digits')
  .meta({ type: 'integer', minimum: 1 })

/**
 * `GET /api/v1/device/update`: what the machine has. The answer is a bundle without it: roots after
 * `root`, timestamp, snapshot and targets file of its view, and the policies that the targets file
 * `targets` of `view` did not list. With `If-None-Match` it is 304 while `view` is the machine's
 * own and has that timestamp.
 */
export const updateQuerySchema = z.strictObject({
  view: viewIdSchema.optional(),
  /** Version of the newest root that it trusts; without it all that followed the first come. */
  root: version.optional(),
  /** Version of the targets file of `view` whose policies it has. */
  targets: version.optional(),
})

/**
 * Header of the requests for an update or an assignment: the version of the newest assignment that
 * the machine has accepted, 0 for none. Assignments have a version for those who send it alone,
 * because machines of earlier releases refuse members that they do not know. A server that has
 * forgotten that version assigns the view anew.
 */
export const ASSIGNMENT_VERSION_HEADER = 'palisade-assignment-version'

/** Value of `ASSIGNMENT_VERSION_HEADER`. */
export const assignmentVersionHeaderSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number of at most 15 digits')

/**
 * Header of the same requests of a machine that the server has refused: what the server is to sign
 * into the assignment, made for this one request, so that no answer to an earlier one ends the
 * revocation.
 */
export const NONCE_HEADER = 'palisade-nonce'

/**
 * Header of a request for an update: the machine needs a timestamp that was issued after this, in
 * seconds since 1970, because its clock was ahead. The server signs one before its hour.
 */
export const RENEWAL_HEADER = 'palisade-issued-after'

/**
 * A timestamp this old, in seconds, is signed anew for whoever asks: at most so often, whoever
 * asks.
 */
export const RENEWAL_SECONDS = 600

/** Value of `RENEWAL_HEADER`. */
export const secondsHeaderSchema = z
  .string()
  .regex(/^\d{1,12}$/, 'must be whole seconds since 1970')

/**
 * So many bytes of policies are sent at once, in the order of the targets file; the others are
 * fetched one by one. A machine on a slow line gets each answer in time.
 */
export const MAX_UPDATE_DOCUMENTS = 512 * 1024

/** So many roots are sent at once, oldest first: no machine follows more before it asks again. */
export const MAX_UPDATE_ROOTS = 32

/** Longest answer, in bytes: those policies and roots, each quoted. */
export const MAX_UPDATE_BYTES = 8 * 1024 * 1024
