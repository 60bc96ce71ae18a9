build:
	cmake -S . -B build -G Ninja >/dev/null && ninja -C build
.PHONY: build
