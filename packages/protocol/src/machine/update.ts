import { z } from 'zod'
import { viewIdSchema } from './view.ts'

/** Path at which a machine requests all missing files in one answer. */
export const UPDATE_PATH = '/api/v1/device/update'

const version = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a whole number from 1 of at most 15 digits')
  .meta({ type: 'integer', minimum: 1 })

/**
 * `GET /api/v1/device/update`: the query describes the machine's files. The answer is a bundle of
 * the missing ones: roots after `root`, timestamp, snapshot and targets file of its view, and the
 * policies that the targets file `targets` of `view` did not list. With `If-None-Match` the answer
 * is 304 while `view` is the machine's view and has that timestamp.
 */
export const updateQuerySchema = z.strictObject({
  view: viewIdSchema.optional(),
  /** Version of the newest trusted root. Without it the answer has all roots after the first. */
  root: version.optional(),
  /** Version of the targets file of `view` whose policies the machine has. */
  targets: version.optional(),
})

/**
 * Header of requests for an update or an assignment: the version of the newest accepted assignment.
 * Absent means 0: no assignment yet. A server that has lost that version assigns the view again. A
 * request for a timestamp or an update with it is not answered 304 while the server has a later
 * version.
 */
export const ASSIGNMENT_VERSION_HEADER = 'palisade-assignment-version'

/** Value of `ASSIGNMENT_VERSION_HEADER`. */
export const assignmentVersionHeaderSchema = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number of at most 15 digits')

/**
 * Header of the same requests of a machine that the server has refused: a value for the server to
 * sign into the assignment. It is new for each request, so that a replayed answer cannot end the
 * revocation.
 */
export const NONCE_HEADER = 'palisade-nonce'

/**
 * Header of a request for an update: the machine needs a timestamp issued after this time, in
 * seconds since 1970, because its clock was ahead. The server then signs one ahead of schedule.
 */
export const RENEWAL_HEADER = 'palisade-issued-after'

/**
 * Minimum age in seconds of a timestamp that is re-signed on request. It limits the rate for all
 * machines together.
 */
export const RENEWAL_SECONDS = 600

/** Value of `RENEWAL_HEADER`. */
export const secondsHeaderSchema = z
  .string()
  .regex(/^\d{1,12}$/, 'must be whole seconds since 1970')

/**
 * Maximum bytes of policies in one answer, in the order of the targets file. Further policies are
 * fetched one by one, so that a machine on a slow line gets each answer in time.
 */
export const MAX_UPDATE_DOCUMENTS = 512 * 1024

/** Maximum roots in one answer, oldest first. Machines follow no more before the next request. */
export const MAX_UPDATE_ROOTS = 32

/** Longest answer, in bytes: these policies and roots, each quoted. */
export const MAX_UPDATE_BYTES = 8 * 1024 * 1024
