/**
 * Programs that are joined into one file after they were compiled: hundreds of modules take Node
 * longer to find and link than to run. The compiler's own output stays beside it, for tests.
 *
 * @typedef {object} BundledProgram
 * @property {string} main what the compiler writes, relative to the root
 * @property {string} name of the one file, `NAME.cjs` beside `main`
 */

/** @type {BundledProgram} */
export const AGENT = { main: 'agent/dist/main.js', name: 'palisade-agent' }

/** @type {BundledProgram} */
export const CLI = { main: 'packages/cli/dist/main.js', name: 'palisade' }

export const BUNDLED = [AGENT, CLI]

/**
 * The one file of a program, relative to the root.
 *
 * @param {BundledProgram} program
 */
export function bundleOf({ main, name }) {
  return main.replace(/[^/]+$/, `${name}.cjs`)
}
