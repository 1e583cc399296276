import { z } from 'zod'

const MAX_CODE_POINTS = 64
/** An NFC character has at most six code units. ICU takes quadratic time, hence this limit. */
const MAX_UNITS = 6 * MAX_CODE_POINTS
const TOO_LONG = `must be at most ${MAX_CODE_POINTS} characters`
/** Controls, invisible formats, separators of lines and unpaired surrogates. */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

/** The name of a machine for people. Machines may share a name. */
export const deviceNameSchema = z
  .string()
  .overwrite((text) => text.trim())
  .refine((text) => text.length <= MAX_UNITS, { error: TOO_LONG, abort: true })
  .overwrite((text) => text.normalize('NFC').trim())
  .refine((text) => !ACTIVE.test(text), 'must be one line of printable characters')
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => [...text].length <= MAX_CODE_POINTS, TOO_LONG)
  .meta({
    description: '1 to 64 characters after trimming and NFC; one line without invisible characters',
  })

/** The default name of a machine, from its host name; null if the host name yields none. */
export function nameOfHost(hostName: string): string | null {
  const text = hostName.slice(0, MAX_UNITS).replace(new RegExp(ACTIVE, 'gu'), '').normalize('NFC')
  return [...text.trim()].slice(0, MAX_CODE_POINTS).join('').trim() || null
}
