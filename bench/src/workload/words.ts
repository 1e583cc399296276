/** Parts of the names in scenarios. */
export const WORDS =
  `alpha amber anchor apple arrow atlas autumn badge bamboo basic beacon berry birch bison blaze
  board bonus brick bridge bronze cabin canal carbon castle cedar chain chalk circle cliff cloud
  cobalt comet copper coral crane crater crystal dawn delta desert diamond dove drift dune eagle
  echo ember engine falcon fern field flame flint forest fossil frost galaxy garden garnet glacier
  globe granite grove harbor hazel helix heron horizon iris island jade jasper juniper kernel
  lagoon lantern laurel lava lemon level linen lotus lunar maple marble meadow metal meteor mint
  mirror nectar north oak oasis ocean olive onyx opal orbit orchid otter panda paper pearl pebble
  pilot pixel planet polar prairie prism pulse quartz quest raven reef ridge river rocket ruby
  sable sage salt shadow shore signal silver slate smoke solar spruce stone storm stream summit
  swift temple thunder tiger topaz tower tundra umber valley velvet violet walnut willow
  zenith`.split(/\s+/)
export const SERVICES =
  'api www cdn static assets auth login registry files img media mail app staging git docs'.split(
    ' ',
  )
export const REGIONS = 'us-east-1 us-west-2 eu-west-1 eu-central-1 ap-south-1 internal'.split(' ')
export const ENDINGS = 'com com com net org io dev app co.uk cloud'.split(' ')
export const FOLDERS =
  'src lib app data etc log cache build dist config tests docs vendor core server'.split(' ')
export const EXTENSIONS = 'ts js json md pem key env log txt yml lock go py sh'.split(' ')
