import { z } from 'zod'

const ifMatchShape = {
  'if-match': z.string().optional().meta({
    description: 'Entity tags of the policy, or `*`; 412 when none of them is the current one',
  }),
}

/** Documents the headers; `readEntityTags` parses them. */
export const ifMatchSchema = z.object(ifMatchShape)
export const getHeadersSchema = z.object({
  ...ifMatchShape,
  'if-none-match': z.string().optional().meta({
    description: 'Entity tags that the caller has; 304 when one of them is the current one',
  }),
})
