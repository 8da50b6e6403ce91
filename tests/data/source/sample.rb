module A
  class Foo < Bar
    attr_reader :x
    def initialize(x)
      if x
      end
    end
    def self.make = new
    def one; 1; end
  end
end
def top
end
