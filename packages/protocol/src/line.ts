import { z } from 'zod'

/**
 * One line that is safe to show anywhere: it cannot control a terminal or imitate another line.
 */
export const lineSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'must be one line of printable characters')
