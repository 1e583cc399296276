import { fileURLToPath } from 'node:url'

/** The holder program: beside this file, or a bundle in its folder below that of the agent. */
export function holderFile(): string {
  const here = import.meta.url
  const extension = here.slice(here.lastIndexOf('.'))
  const path = extension === '.cjs' ? './sandbox/holder/palisade-holder' : './holder-main'
  return fileURLToPath(new URL(`${path}${extension}`, here))
}
